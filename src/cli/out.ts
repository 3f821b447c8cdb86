import { plainJson, plainText } from './plain-text.ts'

/** Target of text: a stream of the process, or a list in a test. */
export interface Sink {
  write(chunk: string | Uint8Array): unknown
}

export type Tone = 'plain' | 'strong' | 'dim' | 'good' | 'warning' | 'bad'

/** Text of one tone; a line is a list of pieces. The text may be unsafe: terminal escapes are removed on output. */
export interface Piece {
  readonly text: string
  readonly tone: Tone
}

/** Returns a piece of ordinary text. */
export const plain = (text: string): Piece => ({ text, tone: 'plain' })
/** Returns a piece of dimmed text. */
export const dim = (text: string): Piece => ({ text, tone: 'dim' })

/** Output of a command. Terminal escapes are removed from everything. */
export interface Out {
  /** True: standard output has only JSON. */
  readonly isJson: boolean
  /** True when partial text may be printed, because the output is a terminal. */
  readonly isLive: boolean
  /** Columns that tables must fit into; undefined: unlimited, because the output is not a terminal. */
  readonly columns: number | undefined
  /** One line for people, on standard output; nothing with `--json`. */
  line(...pieces: readonly (Piece | string)[]): void
  /** Text without a line end, on standard output; nothing with `--json`. */
  text(piece: Piece | string): void
  /** Content of a file, on standard output: unchanged, except on a terminal; nothing with `--json`. */
  content(bytes: Uint8Array): void
  /** One line for people, on standard error; nothing with `--json`. */
  note(...pieces: readonly (Piece | string)[]): void
  /** One line of JSON on standard output; nothing without `--json`. */
  data(value: unknown): void
  /** A warning on standard error: text, or JSON with `--json`. */
  warning(text: string): void
  /** A failure on standard error: the text, or the details as JSON with `--json`. */
  failure(text: string, details: object): void
}

interface OutOptions {
  readonly stdout: Sink
  readonly stderr: Sink
  readonly isJson: boolean
  readonly isTerminal: boolean
  readonly hasColours: boolean
  readonly columns?: number | undefined
}

const codes: Readonly<Record<Tone, string>> = { plain: '', strong: '1', dim: '2', good: '32', warning: '33', bad: '31' }

export function createOut({ stdout, stderr, isJson, isTerminal, hasColours, columns }: OutOptions): Out {
  const painted = (piece: Piece | string): string => {
    const { text, tone } = typeof piece === 'string' ? plain(piece) : piece
    const safe = plainText(text)
    return hasColours && codes[tone] !== '' && safe !== '' ? `\u001b[${codes[tone]}m${safe}\u001b[0m` : safe
  }
  const print = (sink: Sink, text: string) => {
    sink.write(text)
  }
  return {
    isJson,
    isLive: isTerminal && !isJson,
    columns,
    line: (...pieces) => {
      if (!isJson) print(stdout, `${pieces.map(painted).join('')}\n`)
    },
    text: piece => {
      if (!isJson) print(stdout, painted(piece))
    },
    content: bytes => {
      if (isJson) return
      stdout.write(isTerminal ? plainText(new TextDecoder().decode(bytes)) : bytes)
    },
    note: (...pieces) => {
      if (!isJson) print(stderr, `${pieces.map(painted).join('')}\n`)
    },
    data: value => {
      if (isJson) print(stdout, `${plainJson(value)}\n`)
    },
    warning: text => {
      print(
        stderr,
        isJson ? `${plainJson({ warning: text })}\n` : `${painted({ text: `warning: ${text}`, tone: 'warning' })}\n`,
      )
    },
    failure: (text, details) => {
      print(stderr, isJson ? `${plainJson({ error: details })}\n` : `${painted({ text, tone: 'bad' })}\n`)
    },
  }
}
