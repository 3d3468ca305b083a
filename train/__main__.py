"""``python -m train --config FILE``: trains the model that a running service plays."""

import gc
import sys

from app.startup import ends_at_once

if __name__ == "__main__":
    with ends_at_once():
        from train.driver import main
    code = main()
    gc.freeze()  # Else the collections at exit walk all that torch, Ray and MLflow hold: for seconds.
    sys.exit(code)
