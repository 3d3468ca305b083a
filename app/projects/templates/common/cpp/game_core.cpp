// The game server in C++: it holds the rules, and asks for each move. `game_core 36390 5` plays five games.
#include <sparring/client.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>

constexpr int kWidth = 7, kHeight = 6, kApples = 10;

struct Game {
    explicit Game(unsigned seed) : random(seed) { drop(); }

    void drop() {
        apple = std::uniform_int_distribution<int>(0, kWidth - 1)(random);
        height = kHeight;
    }

    // Returns what a step brings.
    double step(int action) {
        basket = std::clamp(basket + action - 1, 0, kWidth - 1);
        if (--height > 0) return 0;
        const double caught = apple == basket ? 1 : 0;
        --apples;
        drop();
        return caught;
    }

    std::string seen() const {
        const auto scaled = [](int value, int whole) { return std::to_string(2.0 * value / whole - 1); };
        return "[" + scaled(basket, kWidth - 1) + "," + scaled(apple, kWidth - 1) + "," + scaled(height, kHeight) + "]";
    }

    std::mt19937 random;
    int basket = kWidth / 2, apple = 0, height = 0, apples = kApples;
};

double play(sparring::Client& client, unsigned seed) {
    Game game(seed);
    sparring::SessionOptions options;
    options.game = "cpp-" + std::to_string(seed);
    options.purpose = sparring::Purpose::play;
    sparring::Session session = client.start(options);
    double reward = 0, total = 0;
    const auto state = [&] { return R"({"observation":)" + game.seen() + R"(,"reward":)" + std::to_string(reward); };
    while (game.apples > 0) {
        const std::string body = session.tick(state() + "}").body;  // {"action":2}
        reward = game.step(std::stoi(body.substr(body.find(':') + 1)));
        total += reward;
    }
    session.stop(state() + R"(,"terminated":true})");
    return total;
}

int main(int count, char** words) {
    try {
        sparring::Options options;
        if (count > 1) options.port = static_cast<std::uint16_t>(std::stoi(words[1]));
        const unsigned games = count > 2 ? static_cast<unsigned>(std::stoul(words[2])) : 5;
        sparring::Client client(options);
        double total = 0;
        for (unsigned seed = 0; seed < games; ++seed) total += play(client, seed);
        std::cout << "mean return " << total / games << "\n";
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
