// Curves as pictures: a self-contained SVG file, or characters in a terminal.
#pragma once

#include <string>
#include <vector>

#include "accountant/interval.h"

namespace dpledger::cli {

// A point that lies in a box.
struct PlotPoint {
  accountant::Interval x, y;
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // by increasing x
  bool reference = false;         // a line to compare with, drawn thin
};

struct Plot {
  std::string title;
  std::string subtitle;  // names the plot's subject, below the title
  std::string x_label, y_label;
  bool log_y = false;
  bool report_lower = false;       // the bound to report is the lower one
  std::vector<PlotSeries> series;  // the first is the main one
};

// One axis: maps a value to its position between the axis's ends.
class Axis {
 public:
  // Covers the series' finite values and ends at ticks. A log axis covers the values > 0, at most
  // 40 decades down.
  static Axis OfX(const Plot& plot);
  static Axis OfY(const Plot& plot);

  // The position in [0, 1]; values outside the axis are clipped.
  double Place(double value) const;
  struct Tick {
    double value;
    std::string text;
  };
  // About `count` ticks.
  std::vector<Tick> Ticks(int count) const;

 private:
  Axis(double from, double to, bool log);
  double from_, to_;  // logarithms to base 10 on a log axis
  bool log_;
};

// `text`, or its first letters and "..." if it has more than `most` letters.
std::string Shortened(const std::string& text, int most);

// An image of 800 by 500 pixels: the area between the bounds is filled, the bound to report is
// drawn over it.
std::string ToSvg(const Plot& plot);

// At most `columns` by `rows` characters, with axes and labels; Braille dots if `unicode`, else
// ASCII. Shows the first series' upper bound, its lower bound where the two are visibly apart, and
// reference lines.
std::string ToTerminal(const Plot& plot, int columns, int rows, bool unicode);

// The columns of stdout if it is a terminal, else 80; clipped to [40, 200]. And whether the locale
// is UTF-8.
int TerminalColumns();
bool TerminalTakesUnicode();

}  // namespace dpledger::cli
