// A game core that plays many games at once with an agent that answers what it was sent, and checks every answer. Prints
// one line of JSON; its exit code is 1 where a game was lost or an answer was wrong, 2 where a word is not understood.
//
//   echo_game --host 127.0.0.1 --port 36390 --games 100 --ticks 1000 --pipeline 4
//
// With --until-eof 1 the games end early, once its standard input does.
#include <sparring/client.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

struct Settings {
    sparring::Options client;
    std::string prefix = "echo";
    std::string agent;
    std::string body;  // Sent with every tick in place of one of its own; answers are then not compared.
    long games = 8;
    long ticks = 100;
    long pipeline = 4;
    long limit_s = 300;
    long until_eof = 0;
};

// What became of the games. The I/O thread counts, the main thread waits.
struct Tally {
    std::mutex mutex;
    std::condition_variable changed;
    long started = 0, finished = 0, lost = 0, ticks = 0, resumed = 0, wrong = 0;
    std::string first_error;
    std::atomic<bool> enough{false};  // The games are to end.

    void lose(const std::string& why) {
        ++lost;
        if (first_error.empty()) first_error = why;
    }
};

// One game. All but play runs in callbacks, and so in one thread.
class Game : public std::enable_shared_from_this<Game> {
public:
    Game(const Settings& settings, Tally& tally, long number) : settings_(settings), tally_(tally), number_(number) {}

    void play(sparring::Client& client) {
        sparring::SessionOptions options;
        options.game = settings_.prefix + "-" + std::to_string(number_);
        options.agent = settings_.agent;
        options.pipeline = static_cast<std::size_t>(settings_.pipeline);
        client.start(options, [self = shared_from_this()](sparring::Session session, const sparring::Outcome& outcome) {
            self->session_ = session;
            self->on_start(outcome);
        });
    }

private:
    void on_start(const sparring::Outcome& outcome) {
        {
            const std::lock_guard lock(tally_.mutex);
            ++tally_.started;
        }
        if (!outcome.ok()) return end(&outcome);
        go_on();
    }

    void go_on() {
        while (sent_ < settings_.ticks && !tally_.enough && under_way_.size() < static_cast<std::size_t>(settings_.pipeline)) {
            std::string body = settings_.body;
            if (body.empty()) {
                body = R"({"game":)" + std::to_string(number_) + R"(,"tick":)" + std::to_string(++sent_) + "}";
            } else {
                ++sent_;
            }
            under_way_.push_back(body);
            session_->tick(std::move(body), [self = shared_from_this()](const sparring::Outcome& outcome) {
                self->on_tick(outcome);
            });
        }
        if (!under_way_.empty()) return;
        session_->stop("", [self = shared_from_this()](const sparring::Outcome& stopped) {
            self->end(stopped.ok() ? nullptr : &stopped);
        });
    }

    void on_tick(const sparring::Outcome& outcome) {
        const std::string sent = std::move(under_way_.front());  // Answers come in the order of the ticks.
        under_way_.pop_front();
        if (lost_) return;
        if (!outcome.ok()) {
            lost_ = true;
            return end(&outcome);
        }
        const sparring::Answer& answer = outcome.answer();
        ++answered_;
        {
            const std::lock_guard lock(tally_.mutex);
            ++tally_.ticks;
            if (answer.resumed_at) ++tally_.resumed;
            const bool is_echo = !settings_.body.empty() || answer.body == sent;
            if (!is_echo || answer.seq != static_cast<std::uint64_t>(answered_)) ++tally_.wrong;
        }
        go_on();
    }

    void end(const sparring::Outcome* failed) {
        const std::lock_guard lock(tally_.mutex);
        ++tally_.finished;
        if (failed) tally_.lose(failed->failure().code + ": " + failed->failure().message);
        tally_.changed.notify_all();
    }

    const Settings& settings_;
    Tally& tally_;
    const long number_;
    std::optional<sparring::Session> session_;
    std::deque<std::string> under_way_;  // Bodies of the ticks that wait for their answers.
    long sent_ = 0, answered_ = 0;
    bool lost_ = false;
};

Settings parse(int count, char** words) {
    Settings settings;
    const std::map<std::string, std::string*> texts = {
        {"--host", &settings.client.host}, {"--prefix", &settings.prefix},
        {"--agent", &settings.agent},      {"--body", &settings.body},
        {"--key", &settings.client.credentials.key}, {"--secret", &settings.client.credentials.secret}};
    long port = settings.client.port, connections = 1;
    const std::map<std::string, long*> numbers = {
        {"--port", &port},           {"--games", &settings.games},       {"--ticks", &settings.ticks},
        {"--connections", &connections}, {"--pipeline", &settings.pipeline}, {"--limit-s", &settings.limit_s},
        {"--until-eof", &settings.until_eof}};
    for (int at = 1; at < count; at += 2) {
        const std::string word = words[at];
        if (at + 1 == count) throw std::invalid_argument(word + " needs a value");
        if (const auto text = texts.find(word); text != texts.end()) {
            *text->second = words[at + 1];
        } else if (const auto number = numbers.find(word); number != numbers.end()) {
            *number->second = std::stol(words[at + 1]);
            if (*number->second < 1) throw std::invalid_argument(word + " is to be at least 1");
        } else {
            throw std::invalid_argument(word + " is not known; allowed are --host, --port, --prefix, --agent, --body, "
                                               "--key, --secret, --games, --ticks, --pipeline, --connections, --limit-s, --until-eof");
        }
    }
    if (port > 65535) throw std::invalid_argument("--port is to be at most 65535");
    settings.client.port = static_cast<std::uint16_t>(port);
    settings.client.connections = static_cast<std::size_t>(connections);
    return settings;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
    return out + "\"";
}

int play(const Settings& settings) {
    static Tally tally;  // The reader of the standard input may outlive this function.
    if (settings.until_eof) {
        std::thread([] {
            while (std::cin.get() != std::char_traits<char>::eof()) continue;
            tally.enough = true;
        }).detach();
    }
    sparring::Client client(settings.client);
    for (long number = 0; number < settings.games; ++number) {
        std::make_shared<Game>(settings, tally, number)->play(client);
    }
    {
        std::unique_lock lock(tally.mutex);
        const std::chrono::seconds limit(settings.limit_s);
        if (!tally.changed.wait_for(lock, limit, [&] { return tally.finished == settings.games; })) {
            tally.lose("not over after " + std::to_string(settings.limit_s) + " s");
        }
    }
    client.close();  // No callback comes after this.
    const sparring::Stats stats = client.stats();
    std::cout << "{\"games\":" << settings.games << ",\"lost\":" << tally.lost << ",\"ticks\":" << tally.ticks
              << ",\"wrong\":" << tally.wrong << ",\"errors\":" << stats.failed << ",\"resumed\":" << tally.resumed
              << ",\"connects\":" << stats.connects << ",\"reconnects\":" << stats.lost
              << ",\"resent\":" << stats.resent << ",\"first_error\":" << quoted(tally.first_error) << "}\n";
    return tally.lost == 0 && tally.wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int count, char** words) {
    try {
        return play(parse(count, words));
    } catch (const std::exception& error) {
        std::cerr << "echo_game: " << error.what() << "\n";
        return 2;
    }
}
