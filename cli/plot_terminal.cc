#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plot.h"

namespace dpledger::cli {
namespace {

// Dots in a grid of characters, each 2 by 4 dots.
class DotGrid {
 public:
  DotGrid(int columns, int rows) : columns_(columns), rows_(rows), cells_(columns * rows, 0) {}

  int width() const { return 2 * columns_; }
  int height() const { return 4 * rows_; }

  // (0, 0) is bottom left.
  void Set(int x, int y) {
    if (x < 0 || x >= width() || y < 0 || y >= height()) return;
    const int down = height() - 1 - y;
    // The Braille block's order of dots (Unicode 15, chapter 21.1).
    static constexpr int kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[(down / 4) * columns_ + x / 2] |= kDots[down % 4][x % 2];
  }

  void Line(double x0, double y0, double x1, double y1, int every) {
    const int steps = static_cast<int>(
        std::ceil(std::fmax(1, std::fmax(std::fabs(x1 - x0), std::fabs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      const int x = static_cast<int>(std::lround(x0 + (x1 - x0) * share));
      if (x % every == 0) Set(x, static_cast<int>(std::lround(y0 + (y1 - y0) * share)));
    }
  }

  std::string Row(int row, bool unicode) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const int dots = cells_[row * columns_ + column];
      if (!unicode) {
        text += dots == 0 ? ' ' : '*';
      } else if (dots == 0) {
        text += ' ';
      } else {  // U+2800 + dots, in UTF-8
        text += '\xe2';
        text += static_cast<char>(0xa0 | (dots >> 6));
        text += static_cast<char>(0x80 | (dots & 0x3f));
      }
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

 private:
  int columns_, rows_;
  std::vector<int> cells_;
};

void Draw(const PlotSeries& series, const Axis& x, const Axis& y, DotGrid& grid) {
  const auto across = [&](double value) { return x.Place(value) * (grid.width() - 1); };
  const auto up = [&](double value) { return y.Place(value) * (grid.height() - 1); };
  const PlotPoint* before = nullptr;
  for (const PlotPoint& point : series.points) {
    if (!std::isfinite(point.x.upper())) continue;
    const PlotPoint& from = before != nullptr ? *before : point;
    const int every = series.reference ? 4 : 1;
    grid.Line(across(from.x.upper()), up(from.y.upper()), across(point.x.upper()),
              up(point.y.upper()), every);
    // Nothing is known from below where the lower bound is 0: no line is drawn along the axis.
    if (!series.reference && from.y.lower() > 0 && point.y.lower() > 0) {
      grid.Line(across(from.x.lower()), up(from.y.lower()), across(point.x.lower()),
                up(point.y.lower()), every);
    }
    before = &point;
  }
}

// Labels under the axis, each centred where it belongs, none over another.
std::string LabelRow(const Axis& x, int columns) {
  std::string row(columns + 8, ' ');
  size_t taken = 0;
  for (const Axis::Tick& tick : x.Ticks(5)) {
    const int centre = static_cast<int>(std::lround(x.Place(tick.value) * (columns - 1)));
    const size_t at = std::max(0, centre - static_cast<int>(tick.text.size()) / 2);
    if (at < taken || at + tick.text.size() > row.size()) continue;
    row.replace(at, tick.text.size(), tick.text);
    taken = at + tick.text.size() + 1;
  }
  while (!row.empty() && row.back() == ' ') row.pop_back();
  return row;
}

}  // namespace

std::string ToTerminal(const Plot& plot, int columns, int rows, bool unicode) {
  const Axis x = Axis::OfX(plot), y = Axis::OfY(plot);
  constexpr int kMargin = 9;
  const int wide = std::max(10, columns - kMargin - 1), high = std::max(4, rows - 6);
  DotGrid grid(wide, high);
  std::string names;
  for (const PlotSeries& series : plot.series) {
    const bool first = &series == &plot.series.front();
    if (!first && !series.reference) continue;
    Draw(series, x, y, grid);
    absl::StrAppend(&names, first ? "" : "; dotted: ", series.name);
  }
  std::string text =
      absl::StrCat(Shortened(plot.title, columns), "\n", Shortened(plot.subtitle, columns), "\n",
                   plot.y_label, "   (", names, ")\n");
  std::vector<std::string> labels(high);
  for (const Axis::Tick& tick : y.Ticks(std::max(2, high / 3))) {
    labels[high - 1 - std::lround(y.Place(tick.value) * (high - 1))] = tick.text;
  }
  for (int row = 0; row < high; ++row) {
    absl::StrAppendFormat(
        &text, "%7s %s", labels[row],
        unicode ? (labels[row].empty() ? "│" : "┤") : (labels[row].empty() ? "|" : "+"));
    absl::StrAppend(&text, grid.Row(row, unicode), "\n");
  }
  absl::StrAppend(&text, std::string(8, ' '), unicode ? "└" : "+");
  for (int i = 0; i < wide; ++i) text += unicode ? "─" : "-";
  absl::StrAppend(&text, "\n", std::string(kMargin, ' '), LabelRow(x, wide), "\n");
  return absl::StrCat(text, std::string(kMargin, ' '), plot.x_label, "\n");
}

int TerminalColumns() {
  winsize size{};
  const bool terminal = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return terminal && size.ws_col > 0 ? std::clamp<int>(size.ws_col, 40, 200) : 80;
}

bool TerminalTakesUnicode() {
  // As the C library chooses: the first that is set decides.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
  }
  return false;
}

}  // namespace dpledger::cli
