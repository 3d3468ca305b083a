// Says who asks.
#pragma once

#include "session_state.h"

namespace sparring {

// Signs for sessions; a signature is used again while it is fresh. Belongs to one thread.
class Signer {
public:
    explicit Signer(const Credentials& credentials) : credentials_(credentials) {}

    // Returns the credentials of a request for one session, or of one that has none, or several (null); null where
    // none are configured. They last until the next call.
    const CredentialsMessage* credentials_for(SessionState* session);

private:
    CredentialsMessage sign(const std::string& session) const;

    const Credentials& credentials_;
    CredentialsMessage unnamed_{};
    Clock::time_point unnamed_until_{};
};

}  // namespace sparring
