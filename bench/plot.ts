/** A bar of a chart. */
export interface Bar {
  readonly label: string
  /** NaN: there is no measurement. */
  readonly value: number
  /** True for the one that the chart is about. */
  readonly isOurs?: boolean
}

/** A chart of horizontal bars that share a scale. */
export interface Chart {
  readonly title: string
  readonly bars: readonly Bar[]
}

const width = 760
const margin = 24
const labelWidth = 210
const valueWidth = 70
const barHeight = 18
const barPitch = 26
const titleHeight = 34
const headerHeight = 64
const colours = {
  paper: '#ffffff',
  edge: '#d0d7de',
  ink: '#1f2328',
  faint: '#59636e',
  ours: '#0969da',
  others: '#afb8c1',
}

interface Plot {
  readonly title: string
  readonly subtitle: string
  readonly charts: readonly Chart[]
}

/** An SVG image of the charts, one below the other. It brings its own light ground, so that it reads on any page. */
export function plotOf({ title, subtitle, charts }: Plot): string {
  let top = headerHeight
  const parts = charts.map(chart => {
    const part = chartAt(chart, top)
    top += titleHeight + chart.bars.length * barPitch
    return part
  })
  const height = top + margin
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${escaped(title)}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6" fill="${colours.paper}" stroke="${colours.edge}"/>`,
    textAt(title, { x: margin, y: 32, extra: `font-size="16" font-weight="600" fill="${colours.ink}"` }),
    textAt(subtitle, { x: margin, y: 52, extra: `font-size="12" fill="${colours.faint}"` }),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function chartAt({ title, bars }: Chart, top: number): string {
  const most = Math.max(...bars.map(({ value }) => value).filter(Number.isFinite), 0)
  const room = width - 2 * margin - labelWidth - valueWidth
  const rows = bars.map(({ label, value, isOurs = false }, at) => {
    const y = top + titleHeight + at * barPitch
    const isKnown = Number.isFinite(value)
    const length = isKnown && most > 0 ? Math.max(1, (value / most) * room) : 0
    const x = margin + labelWidth
    const weight = isOurs ? ' font-weight="600"' : ''
    return [
      textAt(label, { x: x - 10, y: y + 13, extra: `text-anchor="end" fill="${colours.ink}"${weight}` }),
      `<rect x="${x}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2" fill="${isOurs ? colours.ours : colours.others}"/>`,
      textAt(isKnown ? amount(value) : 'did not run', {
        x: Number((x + length + 6).toFixed(1)),
        y: y + 13,
        extra: `fill="${isKnown ? colours.ink : colours.faint}"${weight}`,
      }),
    ].join('\n')
  })
  const heading = textAt(title, { x: margin, y: top + 22, extra: `font-weight="600" fill="${colours.ink}"` })
  return [heading, ...rows].join('\n')
}

interface Spot {
  readonly x: number
  readonly y: number
  readonly extra: string
}

const textAt = (text: string, { x, y, extra }: Spot): string =>
  `<text x="${x}" y="${y}" ${extra}>${escaped(text)}</text>`

const amount = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
