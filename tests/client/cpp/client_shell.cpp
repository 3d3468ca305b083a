// Does what the lines of its standard input say, and prints one line for each outcome:
//   <command> <name> ok <seq> <resumed_at or -> <policy version or -> <body>
//   <command> <name> error <code> <message>
// Words are divided by one space; the last one takes the rest of the line.
#include <sparring/client.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

using namespace sparring;

namespace {

std::mutex output;

void print(const std::string& what, const Outcome& outcome) {
    std::ostringstream line;
    line << what;
    if (outcome.ok()) {
        const Answer& answer = outcome.answer();
        line << " ok " << answer.seq << ' ' << (answer.resumed_at ? std::to_string(*answer.resumed_at) : "-") << ' '
             << (answer.policy_version.empty() ? "-" : answer.policy_version) << ' ' << answer.body;
    } else {
        line << " error " << outcome.failure().code << ' ' << outcome.failure().message;
    }
    const std::lock_guard lock(output);
    std::cout << line.str() << std::endl;
}

template <typename Call>
void attempt(const std::string& what, const Call& call) {
    try {
        print(what, call());
    } catch (const Error& error) {
        print(what, error.failure());
    }
}

std::string rest(std::istream& words) {
    std::string text;
    std::getline(words >> std::ws, text);
    return text;
}

class Shell {
public:
    explicit Shell(Options options) : client_(std::move(options)) {}

    // Returns whether there is more to do.
    bool run(const std::string& line) {
        std::istringstream words(line);
        std::string command, name;
        words >> command;
        if (command == "quit") return false;
        if (command == "stats") return print_stats();
        if (command == "batch") return batch(words);
        words >> name;
        const std::string what = command + " " + name;
        if (command == "ask") attempt(what, [&] { return client_.ask(rest(words)); });
        if (command == "start") start(what, name, words);
        if (command == "again") attempt(what, [&] { return sessions_.at(name).start(); });
        if (command == "tick") attempt(what, [&] { return sessions_.at(name).tick(rest(words)); });
        if (command == "stop") attempt(what, [&] { return sessions_.at(name).stop(rest(words)); });
        if (command == "hurry") hurry(what, name, words);
        if (command == "later") later(what, name, rest(words));
        if (command == "wait-in-callback") wait_in_callback(what, name);
        if (command == "id") print(what, Answer{"", sessions_.at(name).id(), 0, false, ""});
        return true;
    }

private:
    void start(const std::string& what, const std::string& name, std::istream& words) {
        SessionOptions options;
        std::string purpose;
        words >> options.game >> options.agent >> options.pipeline >> purpose;
        if (options.game == "-") options.game.clear();
        if (options.agent == "-") options.agent.clear();
        if (purpose == "evaluate") options.purpose = Purpose::evaluate;
        options.body = rest(words);
        attempt(what, [&] {
            Session session = client_.session(options);
            sessions_.erase(name);
            sessions_.emplace(name, session);
            return session.start();
        });
    }

    // A tick with a deadline.
    void hurry(const std::string& what, const std::string& name, std::istream& words) {
        StepOptions options;
        words >> options.deadline_ms;
        attempt(what, [&] { return sessions_.at(name).tick(rest(words), options); });
    }

    void later(const std::string& what, const std::string& name, const std::string& body) {
        try {
            sessions_.at(name).tick(body, [what](const Outcome& outcome) { print(what, outcome); });
        } catch (const Error& error) {
            print(what, error.failure());
        }
    }

    void wait_in_callback(const std::string& what, const std::string& name) {
        Session session = sessions_.at(name);
        session.tick("1", [what, session](const Outcome&) mutable { attempt(what, [&] { return session.tick("2"); }); });
    }

    // Words NAME:KIND:BODY.
    bool batch(std::istream& words) {
        std::vector<BatchStep> steps;
        std::vector<std::string> names;
        for (std::string word; words >> word;) {
            const auto first = word.find(':'), second = word.find(':', first + 1);
            const std::string kind = word.substr(first + 1, second - first - 1);
            names.push_back(word.substr(0, first));
            steps.push_back({sessions_.at(names.back()),
                             kind == "start" ? Kind::start : kind == "stop" ? Kind::stop : Kind::tick,
                             word.substr(second + 1)});
        }
        try {
            const std::vector<Outcome> outcomes = client_.batch(std::move(steps));
            for (std::size_t at = 0; at < outcomes.size(); ++at) print("batch " + names[at], outcomes[at]);
        } catch (const Error& error) {
            print("batch -", error.failure());
        }
        return true;
    }

    bool print_stats() {
        const Stats stats = client_.stats();
        const std::lock_guard lock(output);
        std::cout << "stats {\"answered\":" << stats.answered << ",\"failed\":" << stats.failed
                  << ",\"resent\":" << stats.resent << ",\"connects\":" << stats.connects << ",\"lost\":" << stats.lost
                  << ",\"malformed\":" << stats.malformed << ",\"late_replies\":" << stats.late_replies
                  << ",\"unanswered\":" << stats.unanswered << "}" << std::endl;
        return true;
    }

    std::map<std::string, Session> sessions_;
    Client client_;
};

// Words NAME=VALUE.
Options parse(int count, char** words) {
    Options options;
    for (int at = 1; at < count; ++at) {
        const std::string word = words[at], name = word.substr(0, word.find('=')), value = word.substr(name.size() + 1);
        const auto number = [&] { return std::stoul(value); };
        if (name == "port") options.port = static_cast<std::uint16_t>(number());
        if (name == "connections") options.connections = number();
        if (name == "max_in_flight") options.max_in_flight = number();
        if (name == "max_unanswered") options.max_unanswered = number();
        if (name == "connect_ms") options.connect_timeout = std::chrono::milliseconds(number());
        if (name == "request_ms") options.request_timeout = std::chrono::milliseconds(number());
        if (name == "step_ms") options.step_timeout = std::chrono::milliseconds(number());
        if (name == "longest_wait_ms") options.longest_wait = std::chrono::milliseconds(number());
        if (name == "key") options.credentials.key = value;
        if (name == "secret") options.credentials.secret = value;
        if (name == "token") options.credentials.token = value;
    }
    return options;
}

}  // namespace

int main(int count, char** words) {
    try {
        Shell shell(parse(count, words));
        for (std::string line; std::getline(std::cin, line) && shell.run(line);) continue;
    } catch (const Error& error) {
        std::cout << "fatal " << error.what() << std::endl;
        return 3;
    }
    return 0;
}
