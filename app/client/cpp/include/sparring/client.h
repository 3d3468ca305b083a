// Client of a Sparring service: game cores start sessions, tick them and stop them.
//
//   sparring::Client client({"127.0.0.1", 36390});
//   sparring::Session session = client.start({"game-1", "red"});
//   sparring::Answer answer = session.tick(R"({"observation": [0, 0, 0, 0]})");
//   session.stop(R"({"terminated": true})");
//
// One Client has one I/O thread and few connections; thousands of sessions share them. All methods of Client and
// Session may be called from any thread at any time. Callbacks run in the I/O thread, those of a session in the order
// of its steps: they must be short, must throw nothing but Closed, and may call the methods that take a callback, not
// those that wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sparring/errors.h"

namespace sparring {

class Engine;
struct SessionState;

// Who asks. With a secret the client signs a token for each session; without one it sends `token` and `time` as given.
struct Credentials {
    std::string key;  // Empty: no credentials are sent.
    std::string secret;
    std::string token;
    std::string time;  // Unix seconds that the token signs.
};

struct Options {
    std::string host = "127.0.0.1";  // A name is resolved in the I/O thread at each connection.
    std::uint16_t port = 36390;
    Credentials credentials{};
    std::size_t connections = 1;
    std::size_t max_in_flight = 256;   // Requests that wait for replies on one connection; more wait in the client.
    std::size_t max_unanswered = 65536;  // Steps of all sessions that wait for an answer; more are refused (QueueFull).
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds request_timeout{10000};  // One try; the service itself answers well before.
    std::chrono::milliseconds step_timeout{60000};     // A step with all its tries and waits.
    std::chrono::milliseconds first_wait{20};          // Upper bound of the jittered wait before a retry; it doubles,
    std::chrono::milliseconds longest_wait{2000};      // up to this, unless the service asks for more.
};

enum class Purpose { service_default, train, evaluate, play };

struct SessionOptions {
    std::string game;   // Empty: a new game; its id is minted by the service, or here where an agent is named.
    std::string agent;  // Empty: the session is the game's only one. Otherwise its id is <game>-agent-<agent>.
    Purpose purpose = Purpose::service_default;
    std::string body{};        // The agent's options, sent with the start.
    std::size_t pipeline = 1;  // Steps that may be under way at once, 1 to 8; more are refused (TooManySteps).
};

struct StepOptions {
    std::uint32_t deadline_ms = 0;  // 0: the service's own limit.
    bool delta = false;             // The body is a difference to the session's last one.
};

struct Answer {
    std::string session;
    std::string body;
    std::uint64_t seq = 0;                      // Steps that the session has answered.
    bool json = false;                          // Whether the body is JSON.
    std::string policy_version;                 // generation.number; empty where no model was asked.
    std::optional<std::uint64_t> resumed_at{};  // The game was restored as it was after this step, and goes on.
    std::string endpoint{};                     // Of a start: host:port where the game's replica itself listens.
};

// An answer, or why there is none.
class Outcome {
public:
    Outcome(Answer answer) : value_(std::move(answer)) {}
    Outcome(Failure failure) : value_(std::move(failure)) {}

    bool ok() const noexcept { return std::holds_alternative<Answer>(value_); }
    // Throws the failure's error class where there is no answer.
    const Answer& answer() const& {
        if (!ok()) raise(std::get<Failure>(value_));
        return std::get<Answer>(value_);
    }
    Answer answer() && {
        if (!ok()) raise(std::get<Failure>(value_));
        return std::get<Answer>(std::move(value_));
    }
    // Must not be asked of an answer.
    const Failure& failure() const { return std::get<Failure>(value_); }

private:
    std::variant<Answer, Failure> value_;
};

using Callback = std::function<void(const Outcome&)>;

// One agent's side of one game. A handle: copies mean the same session, and it outlives the client without harm. It
// ends by stop, or in the service when it idles; its destructor sends nothing.
//
// Methods that wait throw an Error. All methods throw at once, without sending anything: Closed, TooManySteps,
// QueueFull, BodyTooLarge, Misuse.
class Session {
public:
    // The id; empty until the start is answered where the service mints it.
    std::string id() const;

    // Opens the session; after a stop it begins the next episode under the same id.
    Answer start();
    void start(Callback done);

    // Brings an observation, returns the agent's answer.
    Answer tick(std::string body, StepOptions options = {});
    void tick(std::string body, Callback done, StepOptions options = {});

    // Ends the episode.
    Answer stop(std::string body = {});
    void stop(std::string body, Callback done);

private:
    friend class Client;
    Session(std::shared_ptr<Engine> engine, std::shared_ptr<SessionState> state);

    std::shared_ptr<Engine> engine_;
    std::shared_ptr<SessionState> state_;
};

enum class Kind { tick, start, stop, ask };

// One step of a batch; `kind` is tick, start or stop.
struct BatchStep {
    Session session;
    Kind kind = Kind::tick;
    std::string body{};  // Not of a start, whose body stands in SessionOptions.
    StepOptions options{};
};

// Counts since the client's construction.
struct Stats {
    std::uint64_t answered = 0;      // Steps with an answer.
    std::uint64_t failed = 0;        // Steps with a failure.
    std::uint64_t resent = 0;        // Requests sent again.
    std::uint64_t connects = 0;      // Connections made.
    std::uint64_t lost = 0;          // Connections lost, or cut because their peer was silent or sent no replies.
    std::uint64_t malformed = 0;     // Replies that were not the protocol's.
    std::uint64_t late_replies = 0;  // Replies to requests that had been given up or sent again.
    std::uint64_t unanswered = 0;    // Steps under way now.
};

class Client {
public:
    // Throws Misuse where an option is out of its bounds. Connects when the first step is sent.
    explicit Client(Options options = {});
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Returns a session that is not started; nothing is sent.
    Session session(SessionOptions options);

    // Starts a session and returns it.
    Session start(SessionOptions options);
    void start(SessionOptions options, std::function<void(Session, const Outcome&)> done);

    // Asks for one answer without a session (`auto` of the protocol).
    Answer ask(std::string body, StepOptions options = {});
    void ask(std::string body, Callback done, StepOptions options = {});

    // Sends up to 4,096 steps of any sessions as one request; those of a session are played in order. One step's
    // failure does not touch those of other sessions. Where a step cannot be taken (see Session) none is sent.
    std::vector<Outcome> batch(std::vector<BatchStep> steps);
    void batch(std::vector<BatchStep> steps, std::function<void(std::vector<Outcome>)> done);

    Stats stats() const;

    // Fails what is under way (Closed) and ends the I/O thread; the destructor does the same. From a callback it
    // does not wait for the thread.
    void close();

private:
    std::shared_ptr<Engine> engine_;
};

}  // namespace sparring
