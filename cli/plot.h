// Curves as pictures: an SVG file that needs nothing else, or characters in a terminal.
#pragma once

#include <string>
#include <vector>

#include "accountant/interval.h"

namespace dpledger::cli {

// A point known to lie in a box.
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
  std::string subtitle;  // what it is about, below the title
  std::string x_label, y_label;
  bool log_y = false;
  bool report_lower = false;       // the bound to report is the lower one
  std::vector<PlotSeries> series;  // the first is what the plot is about
};

// One axis: where a value lies between its ends.
class Axis {
 public:
  // The range of the series' finite values, made a little larger to end at a tick; on a log axis of
  // those > 0, at most 40 decades down.
  static Axis OfX(const Plot& plot);
  static Axis OfY(const Plot& plot);

  // In [0, 1] for values within; clipped to it.
  double Place(double value) const;
  struct Tick {
    double value;
    std::string text;
  };
  // About `count` of them.
  std::vector<Tick> Ticks(int count) const;

 private:
  Axis(double from, double to, bool log);
  double from_, to_;  // logarithms to base 10 on a log axis
  bool log_;
};

// `text`, or its first letters and "..." where it has more than `most`.
std::string Shortened(const std::string& text, int most);

// 800 by 500 pixels: the area between the bounds filled, the bound to report drawn over it.
std::string ToSvg(const Plot& plot);

// `columns` by `rows` characters at most, with axes and labels; Braille dots where `unicode`, else
// ASCII. The first series' upper bound, its lower bound where it shows apart, and reference lines.
std::string ToTerminal(const Plot& plot, int columns, int rows, bool unicode);

// What stdout takes: its columns if it is a terminal, else 80, in [40, 200]; and whether the locale
// is UTF-8.
int TerminalColumns();
bool TerminalTakesUnicode();

}  // namespace dpledger::cli
