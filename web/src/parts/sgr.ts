/** Names of the colors that terminal output may have. Each is a role in the theme, readable in both schemes. */
export const terminalColors = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const
export type TerminalColor = (typeof terminalColors)[number]

export interface TerminalStyle {
  readonly color: TerminalColor | undefined
  readonly isBold: boolean
  readonly isDim: boolean
  readonly isItalic: boolean
  readonly isUnderlined: boolean
}

export interface StyledText {
  readonly text: string
  readonly style: TerminalStyle
}

const plain: TerminalStyle = {
  color: undefined,
  isBold: false,
  isDim: false,
  isItalic: false,
  isUnderlined: false,
}

/** Control sequences: CSI, OSC and other strings up to their terminator, and two-character escapes. */
const sequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal codes are control characters
  /(?:\u001b\[|\u009b)([0-9;:?<=>]*)[ -/]*([@-~])|\u001b[PX\]^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g

/**
 * Splits terminal output into styled texts. Codes for color and weight become styles; all other codes vanish, and so do
 * background and concealed colors, because they can hide text. A carriage return restarts its line.
 */
export function styledTexts(output: string): StyledText[] {
  const found: StyledText[] = []
  let style = plain
  let from = 0
  const push = (text: string) => {
    if (text !== '') found.push({ text, style })
  }
  const shown = withoutOverwritten(output)
  for (const match of shown.matchAll(sequence)) {
    push(shown.slice(from, match.index))
    from = match.index + match[0].length
    if (match[2] === 'm') style = restyled(style, match[1] ?? '')
  }
  push(shown.slice(from))
  return found
}

/** Returns the text of terminal output without its codes. */
export const withoutCodes = (output: string): string => withoutOverwritten(output).replaceAll(sequence, '')

/** A progress bar writes its line again after a carriage return; only the last state stays. */
function withoutOverwritten(output: string): string {
  if (!output.includes('\r')) return output
  return output
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map(line => line.replace(/\r+$/, '').split('\r').at(-1) ?? '')
    .join('\n')
}

function restyled(style: TerminalStyle, parameters: string): TerminalStyle {
  const codes = parameters.split(/[;:]/).map(Number)
  let next = style
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0
    if (code === 38 || code === 48) {
      const { color, length } = extendedColor(codes.slice(at + 1))
      if (code === 38) next = { ...next, color }
      at += length
      continue
    }
    next = { ...next, ...changeOf(code) }
  }
  return next
}

const changes: Readonly<Record<number, Partial<TerminalStyle>>> = {
  0: plain,
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  39: { color: undefined },
}

function changeOf(code: number): Partial<TerminalStyle> {
  if (code >= 30 && code <= 37) return { color: terminalColors[code - 30] }
  if (code >= 90 && code <= 97) return { color: terminalColors[code - 90] }
  return changes[code] ?? {}
}

/** `5;n` is one of 256 colors, `2;r;g;b` any color: each is shown as the nearest named one. */
function extendedColor([kind, ...values]: readonly number[]): { color: TerminalColor | undefined; length: number } {
  if (kind === 5) return { color: indexedColor(values[0] ?? 0), length: 2 }
  if (kind !== 2) return { color: undefined, length: 1 }
  const [red = 0, green = 0, blue = 0] = values
  return { color: nearest(red, green, blue), length: 4 }
}

function indexedColor(index: number): TerminalColor | undefined {
  if (index < 16) return terminalColors[index % 8]
  if (index >= 232) return undefined
  const level = (value: number) => value * 51
  const cube = index - 16
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6))
}

/** Greys have no color: they would be hard to read in one of the schemes. */
function nearest(red: number, green: number, blue: number): TerminalColor | undefined {
  const most = Math.max(red, green, blue)
  if (most - Math.min(red, green, blue) < 40) return undefined
  const bits = [red, green, blue].map(value => (value > most * 0.6 ? 1 : 0))
  return terminalColors[(bits[0] ?? 0) + 2 * (bits[1] ?? 0) + 4 * (bits[2] ?? 0)]
}
