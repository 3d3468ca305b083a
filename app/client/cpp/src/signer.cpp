#include "signer.h"

#include <chrono>

#include "sha256.h"

namespace sparring {
namespace {

constexpr std::chrono::seconds kFresh{20};  // Well below any age at which a service refuses a token.

}  // namespace

const CredentialsMessage* Signer::credentials_for(SessionState* session) {
    if (credentials_.key.empty()) return nullptr;
    const bool named = session != nullptr && !session->id.empty();
    CredentialsMessage& message = named ? session->signed_as : unnamed_;
    Clock::time_point& until = named ? session->signed_until : unnamed_until_;
    const auto now = Clock::now();
    if (message.key.empty() || now >= until) {
        message = sign(named ? session->id : std::string());
        until = now + kFresh;
    }
    return &message;
}

CredentialsMessage Signer::sign(const std::string& session) const {
    if (credentials_.secret.empty()) return {credentials_.key, credentials_.time, credentials_.token};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::string time = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    return {credentials_.key, time, token_of(credentials_.secret, credentials_.key, time, session)};
}

}  // namespace sparring
