"""Keras models for tests; imported only where Keras is installed."""

import keras


def two_heads() -> keras.Model:
    seen = keras.Input((3,), name="observation")
    hidden = keras.layers.Dropout(0.5)(keras.layers.Dense(8, activation="tanh")(seen))
    return keras.Model(seen, [keras.layers.Dense(2)(hidden), keras.layers.Dense(1)(hidden)])


def one_head() -> keras.Model:
    seen = keras.Input((3,))
    return keras.Model(seen, keras.layers.Dense(2)(seen))
