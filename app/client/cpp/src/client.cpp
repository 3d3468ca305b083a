#include "sparring/client.h"

#include <algorithm>
#include <condition_variable>
#include <random>

#include "engine.h"
#include "sha256.h"

namespace sparring {
namespace {

constexpr std::size_t kIdMax = 1024;          // Bytes of a game's or agent's name.
constexpr std::chrono::seconds kGrace{5};     // For the I/O thread to come round with what is late.

// Where a caller waits for the I/O thread.
template <typename Value>
class Waiter {
public:
    void set(Value value) {
        const std::lock_guard lock(mutex_);
        value_ = std::move(value);
        set_.notify_one();
    }
    Value wait(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        if (!set_.wait_for(lock, timeout + kGrace, [this] { return value_.has_value(); })) {
            raise({"timed_out", "the I/O thread does not come round: a callback keeps it"});
        }
        return std::move(*value_);
    }

private:
    std::mutex mutex_;
    std::condition_variable set_;
    std::optional<Value> value_;
};

// Returns what `send` gives to the callback that it is handed.
template <typename Value, typename Send>
Value wait_for(Engine& engine, const Send& send) {
    engine.check_may_wait();
    const auto waiter = std::make_shared<Waiter<Value>>();  // The I/O thread may come after we are gone.
    send([waiter](Value value) { waiter->set(std::move(value)); });
    return waiter->wait(engine.options().step_timeout);
}

void check(bool holds, const std::string& message) {
    if (!holds) raise({"misuse", message});
}

void check_text(const std::string& name, const std::string& text) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    check(protobuf::is_utf8(text) && std::none_of(text.begin(), text.end(), is_control) && text.size() <= kIdMax,
          name + " is to be UTF-8 without control characters, at most " + std::to_string(kIdMax) + " bytes");
}

void check_session(const SessionOptions& options) {
    check_text("SessionOptions::game", options.game);
    const auto is_word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    check(options.agent.size() <= kIdMax && std::all_of(options.agent.begin(), options.agent.end(), is_word),
          "SessionOptions::agent is '" + options.agent + "'; allowed are letters, digits and _");
    check(options.pipeline >= 1 && options.pipeline <= kPipelineMax,
          "SessionOptions::pipeline is " + std::to_string(options.pipeline) + "; allowed are 1 to " +
              std::to_string(kPipelineMax) + ", the replies that the service keeps for repeated steps");
}

// Returns 128 random bits as text.
std::string minted() {
    std::random_device random;
    std::string text;
    for (int at = 0; at < 4; ++at) {
        const std::uint32_t word = random();
        for (int shift = 28; shift >= 0; shift -= 4) text.push_back("0123456789abcdef"[(word >> shift) & 15]);
    }
    return text;
}

StepPtr step_of(std::shared_ptr<SessionState> session, Kind kind, std::string body, StepOptions options,
                Callback done) {
    check(static_cast<bool>(done), "the callback is empty");
    auto step = std::make_shared<Step>();
    step->session = std::move(session);
    step->kind = kind;
    step->body = std::move(body);
    step->options = options;
    step->done = std::move(done);
    return step;
}

// Collects the outcomes of a batch; the I/O thread alone uses it.
struct Collected {
    std::vector<std::optional<Outcome>> outcomes;
    std::size_t missing;
    std::function<void(std::vector<Outcome>)> done;

    void put(std::size_t at, const Outcome& outcome) {
        outcomes[at] = outcome;
        if (--missing > 0) return;
        std::vector<Outcome> all;
        for (auto& one : outcomes) all.push_back(std::move(*one));
        done(std::move(all));
    }
};

}  // namespace

Session::Session(std::shared_ptr<Engine> engine, std::shared_ptr<SessionState> state)
    : engine_(std::move(engine)), state_(std::move(state)) {}

std::string Session::id() const { return engine_->id_of(*state_); }

void Session::start(Callback done) {
    engine_->submit({step_of(state_, Kind::start, state_->options.body, {}, std::move(done))});
}

Answer Session::start() {
    return wait_for<Outcome>(*engine_, [this](Callback done) { start(std::move(done)); }).answer();
}

void Session::tick(std::string body, Callback done, StepOptions options) {
    engine_->submit({step_of(state_, Kind::tick, std::move(body), options, std::move(done))});
}

Answer Session::tick(std::string body, StepOptions options) {
    return wait_for<Outcome>(*engine_, [&](Callback done) { tick(std::move(body), std::move(done), options); })
        .answer();
}

void Session::stop(std::string body, Callback done) {
    engine_->submit({step_of(state_, Kind::stop, std::move(body), {}, std::move(done))});
}

Answer Session::stop(std::string body) {
    return wait_for<Outcome>(*engine_, [&](Callback done) { stop(std::move(body), std::move(done)); }).answer();
}

Client::Client(Options options) : engine_(Engine::open(std::move(options))) {}

Client::~Client() { engine_->close(); }

Session Client::session(SessionOptions options) {
    check_session(options);
    const bool service_mints = options.game.empty() && options.agent.empty();
    if (options.game.empty() && !service_mints) options.game = minted();
    std::string id = options.agent.empty() ? options.game : options.game + "-agent-" + options.agent;
    std::string key = service_mints ? minted() : std::string();
    return {engine_, std::make_shared<SessionState>(std::move(options), std::move(id), std::move(key))};
}

Session Client::start(SessionOptions options) {
    Session started = session(std::move(options));
    started.start();
    return started;
}

void Client::start(SessionOptions options, std::function<void(Session, const Outcome&)> done) {
    check(static_cast<bool>(done), "the callback is empty");
    Session started = session(std::move(options));
    started.start([started, done = std::move(done)](const Outcome& outcome) { done(started, outcome); });
}

void Client::ask(std::string body, Callback done, StepOptions options) {
    engine_->submit({step_of(nullptr, Kind::ask, std::move(body), options, std::move(done))});
}

Answer Client::ask(std::string body, StepOptions options) {
    return wait_for<Outcome>(*engine_, [&](Callback done) { ask(std::move(body), std::move(done), options); })
        .answer();
}

void Client::batch(std::vector<BatchStep> steps, std::function<void(std::vector<Outcome>)> done) {
    check(static_cast<bool>(done), "the callback is empty");
    const auto collected = std::make_shared<Collected>();
    collected->outcomes.resize(steps.size());
    collected->missing = steps.size();
    collected->done = std::move(done);
    Steps all;
    for (std::size_t at = 0; at < steps.size(); ++at) {
        BatchStep& one = steps[at];
        check(one.kind != Kind::ask, "a question has no session, and so no place in a batch");
        check(one.session.engine_ == engine_, "the session is another client's");
        std::string body = one.kind == Kind::start ? one.session.state_->options.body : std::move(one.body);
        all.push_back(step_of(one.session.state_, one.kind, std::move(body), one.options,
                              [collected, at](const Outcome& outcome) { collected->put(at, outcome); }));
    }
    engine_->submit(std::move(all));
}

std::vector<Outcome> Client::batch(std::vector<BatchStep> steps) {
    return wait_for<std::vector<Outcome>>(*engine_, [&](auto done) { batch(std::move(steps), std::move(done)); });
}

Stats Client::stats() const { return engine_->stats(); }

void Client::close() { engine_->close(); }

}  // namespace sparring
