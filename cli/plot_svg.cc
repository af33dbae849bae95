#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/plot.h"

namespace dpledger::cli {
namespace {

constexpr int kWidth = 800, kHeight = 500;
constexpr int kLeft = 80, kRight = 24, kTop = 56, kBottom = 64;
// Told apart by people who do not see all colours (Okabe and Ito).
constexpr std::array<const char*, 4> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

class Canvas {
 public:
  explicit Canvas(const Plot& plot) : x_(Axis::OfX(plot)), y_(Axis::OfY(plot)) {}

  std::string At(double x, double y) const {
    return absl::StrFormat("%.2f,%.2f", Across(x), Down(y));
  }
  double Across(double x) const { return kLeft + x_.Place(x) * (kWidth - kLeft - kRight); }
  double Down(double y) const {
    return kHeight - kBottom - y_.Place(y) * (kHeight - kTop - kBottom);
  }
  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

 private:
  Axis x_, y_;
};

std::string Text(double x, double y, const char* anchor, const std::string& text,
                 const std::string& more = "") {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y,
                         anchor, more, Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2, const char* colour) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                         x1, y1, x2, y2, colour);
}

std::string Axes(const Plot& plot, const Canvas& canvas) {
  constexpr char kGrid[] = "#dddddd";
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  std::string svg;
  for (const Axis::Tick& tick : canvas.x().Ticks(8)) {
    const double at = canvas.Across(tick.value);
    svg += Line(at, kTop, at, bottom, kGrid) + Text(at, bottom + 20, "middle", tick.text);
  }
  for (const Axis::Tick& tick : canvas.y().Ticks(8)) {
    const double at = canvas.Down(tick.value);
    svg += Line(kLeft, at, right, at, kGrid) + Text(kLeft - 8, at + 4, "end", tick.text);
  }
  svg +=
      Line(kLeft, bottom, right, bottom, "#333333") + Line(kLeft, kTop, kLeft, bottom, "#333333");
  svg += Text((kLeft + right) / 2, kHeight - 18, "middle", plot.x_label);
  const double middle = (kTop + bottom) / 2;
  return svg + Text(20, middle, "middle", plot.y_label,
                    absl::StrFormat(" transform=\"rotate(-90 20 %.1f)\"", middle));
}

// The area between the bounds, and the bound to report.
std::string Curve(const PlotSeries& series, bool report_lower, const Canvas& canvas,
                  const char* colour) {
  std::string reported, other, dots;
  for (const PlotPoint& point : series.points) {
    if (!std::isfinite(point.x.upper())) continue;
    const std::string lower = canvas.At(point.x.lower(), point.y.lower());
    const std::string upper = canvas.At(point.x.upper(), point.y.upper());
    const double x = report_lower ? point.x.lower() : point.x.upper();
    const double y = report_lower ? point.y.lower() : point.y.upper();
    absl::StrAppend(&reported, reported.empty() ? "" : " ", report_lower ? lower : upper);
    other = absl::StrCat(report_lower ? upper : lower, other.empty() ? "" : " ", other);
    absl::StrAppendFormat(&dots, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2.5\" fill=\"%s\"/>\n",
                          canvas.Across(x), canvas.Down(y), colour);
  }
  if (series.reference) {
    return absl::StrFormat(
        "<polyline points=\"%s\" fill=\"none\" stroke=\"#777777\" stroke-dasharray=\"5 4\"/>\n",
        reported);
  }
  std::string svg = absl::StrFormat(
      "<polygon points=\"%s %s\" fill=\"%s\" fill-opacity=\"0.25\"/>\n", reported, other, colour);
  absl::StrAppendFormat(
      &svg, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", reported,
      colour);
  // A curve of few points shows them.
  return series.points.size() > 60 ? svg : svg + dots;
}

std::string Legend(const Plot& plot) {
  std::string svg;
  double y = kTop + 18;
  size_t colour = 0;
  for (const PlotSeries& series : plot.series) {
    const double right = kWidth - kRight - 12;
    svg += Text(right - 34, y + 4, "end", series.name);
    absl::StrAppendFormat(
        &svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"%s/>\n",
        right - 28, y, right, y,
        series.reference ? "#777777" : kColours[colour++ % kColours.size()],
        series.reference ? " stroke-dasharray=\"5 4\"" : " stroke-width=\"2\"");
    y += 20;
  }
  return svg;
}

}  // namespace

std::string ToSvg(const Plot& plot) {
  const Canvas canvas(plot);
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
      "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight, kWidth, kHeight, kWidth, kHeight);
  svg += Text(kLeft, 24, "start", Shortened(plot.title, 75), " font-size=\"16\"");
  svg += Text(kLeft, 44, "start", Shortened(plot.subtitle, 95));
  svg += Axes(plot, canvas);
  // The first series on top.
  std::string curves;
  size_t colour = 0;
  for (const PlotSeries& series : plot.series) {
    const char* const own = series.reference ? "" : kColours[colour++ % kColours.size()];
    curves = absl::StrCat(Curve(series, plot.report_lower, canvas, own), curves);
  }
  svg += curves;
  return svg + Legend(plot) + "</svg>\n";
}

}  // namespace dpledger::cli
