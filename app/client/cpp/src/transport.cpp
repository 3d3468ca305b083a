#include "transport.h"

#include <algorithm>

namespace sparring {
namespace {

constexpr std::size_t kUnsentMax = 1024 * 1024;  // Bytes that wait for one socket; then its requests wait outside.

}  // namespace

Transport::Transport(const Options& options, Random& random)
    : options_(options), random_(random), bell_(net::joined_sockets()) {
    for (std::size_t at = 0; at < options.connections; ++at) {
        slots_.push_back(Slot{nullptr, Backoff(options.first_wait, options.longest_wait)});
    }
}

void Transport::wake() {
    if (!rung_.exchange(true)) bell_.first.send("!", 1);
}

void Transport::run_once(Clock::time_point until, bool wanted, Receiver& receiver) {
    for (Slot& slot : slots_) {
        replace_retiring(slot);
        if (wanted && !slot.link && slot.next_try <= Clock::now()) connect(slot);
    }
    const std::vector<Link*> links = this->links();
    entries_.clear();
    entries_.push_back({bell_.second.handle(), POLLIN, 0});
    for (const Link* link : links) {
        entries_.push_back({link->handle(), static_cast<short>(link->wants_write() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (net::poll_entries(entries_, poll_ms(until, wanted)) > 0) {
        char bytes[16];
        if (entries_[0].revents != 0) {
            while (bell_.second.receive(bytes, sizeof bytes) > 0) continue;
            rung_ = false;
        }
        for (std::size_t at = 0; at < links.size(); ++at) serve(at + 1, *links[at], receiver);
    }
    reap(receiver);
}

void Transport::serve(std::size_t entry, Link& link, Receiver& receiver) {
    const bool was_connecting = link.state() == Link::State::connecting;
    const auto events = entries_[entry].revents;
    if (link.state() == Link::State::broken) return;
    if (events & (POLLOUT | POLLERR | POLLHUP)) link.on_writable();
    if (was_connecting && link.state() == Link::State::open) ++connects;
    if (link.state() == Link::State::open && events & (POLLIN | POLLERR | POLLHUP)) link.on_readable(receiver);
}

LinkId Transport::pick(std::size_t key) const {
    for (std::size_t at = 0; at < slots_.size(); ++at) {
        const Link* link = slots_[(key + at) % slots_.size()].link.get();
        if (takes_requests(link)) return link->id();
    }
    if (connected()) return kNoLink;
    for (const auto& link : retired_) {  // Better than none, for the games that are still there.
        if (takes_requests(link.get())) return link->id();
    }
    return kNoLink;
}

bool Transport::takes_requests(const Link* link) const {
    return link && link->state() == Link::State::open && link->in_flight < options_.max_in_flight &&
           link->unsent() < kUnsentMax;
}

void Transport::send(LinkId id, std::string_view frame) {
    Link* link = find(id);
    ++link->in_flight;
    link->send(frame);
}

void Transport::release(LinkId id) {
    if (Link* link = find(id)) --link->in_flight;
}

void Transport::retire(LinkId id) {
    if (Link* link = find(id)) link->retiring = true;
}

void Transport::cut(LinkId id, const std::string& reason) {
    if (Link* link = find(id)) link->cut(reason);
}

bool Transport::silent_since(LinkId id, Clock::time_point then) const {
    const Link* link = find(id);
    return link && link->last_read() <= then;
}

bool Transport::connected() const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.link && slot.link->state() == Link::State::open; });
}

void Transport::connect(Slot& slot) {
    try {
        if (slot.addresses.empty()) slot.addresses = net::resolve(options_.host, options_.port);
        const auto connect_by = Clock::now() + options_.connect_timeout;
        slot.link = std::make_unique<Link>(++last_id_, slot.addresses[slot.address], connect_by);
    } catch (const std::runtime_error& error) {
        connect_failed(slot, error.what());
    }
}

void Transport::connect_failed(Slot& slot, const std::string& reason) {
    last_error_ = "no connection to " + options_.host + ":" + std::to_string(options_.port) + ": " + reason;
    slot.next_try = Clock::now();
    if (++slot.address < slot.addresses.size()) return;  // The next address at once.
    slot.addresses.clear();
    slot.address = 0;
    slot.next_try += slot.backoff.next(random_);
}

void Transport::replace_retiring(Slot& slot) {
    if (!slot.link || !slot.link->retiring) return;
    if (retired_.size() == slots_.size()) retired_.front()->cut("its replica is going away");
    retired_.push_back(std::move(slot.link));
    slot.next_try = Clock::now();
}

int Transport::poll_ms(Clock::time_point until, bool wanted) const {
    for (const Slot& slot : slots_) {
        if (!slot.link && wanted) until = std::min(until, slot.next_try);
        if (slot.link && slot.link->state() == Link::State::connecting) until = std::min(until, slot.link->connect_by());
    }
    for (const Link* link : links()) {
        if (link->state() == Link::State::broken) return 0;
    }
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now()).count();
    return static_cast<int>(std::clamp<Milliseconds::rep>(left, 0, 1000));
}

void Transport::reap(Receiver& receiver) {
    for (Slot& slot : slots_) reap(slot, receiver);
    for (std::size_t at = 0; at < retired_.size();) {
        const bool needed = retired_[at]->in_flight > 0 || !connected();
        if (needed && retired_[at]->state() != Link::State::broken) {
            ++at;
            continue;
        }
        const LinkId id = retired_[at]->id();
        retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(at));
        receiver.on_lost(id);
    }
}

void Transport::reap(Slot& slot, Receiver& receiver) {
    if (!slot.link) return;
    if (slot.link->state() == Link::State::connecting && slot.link->connect_by() <= Clock::now()) {
        slot.link->cut("no answer within " + std::to_string(options_.connect_timeout.count()) + " ms");
    }
    if (slot.link->has_replied) slot.backoff.reset();
    if (slot.link->state() != Link::State::broken) return;
    const std::unique_ptr<Link> link = std::move(slot.link);
    if (link->last_read() == Clock::time_point{}) return connect_failed(slot, link->error());  // Never open.
    ++lost;
    last_error_ = "the connection was lost: " + link->error();
    slot.next_try = Clock::now() + slot.backoff.next(random_);
    receiver.on_lost(link->id());
}

Link* Transport::find(LinkId id) const {
    for (const Slot& slot : slots_) {
        if (slot.link && slot.link->id() == id) return slot.link.get();
    }
    for (const auto& link : retired_) {
        if (link->id() == id) return link.get();
    }
    return nullptr;
}

std::vector<Link*> Transport::links() const {
    std::vector<Link*> links;
    for (const Slot& slot : slots_) {
        if (slot.link) links.push_back(slot.link.get());
    }
    for (const auto& link : retired_) links.push_back(link.get());
    return links;
}

}  // namespace sparring
