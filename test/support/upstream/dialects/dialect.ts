import type { ScriptedMessage } from '../message-frames.ts'

/** How a scripted upstream speaks: what its protocol makes of an answer that is given in Anthropic's terms. */
export interface Dialect {
  /** What a request asks for; undefined is a path that such an upstream does not have. */
  requestKind(
    path: string,
    body: Readonly<Record<string, unknown>>,
  ): 'stream' | 'whole' | 'count' | 'embeddings' | undefined
  /** The frames of a streamed answer, each as its own piece. */
  frames(message: ScriptedMessage): readonly Buffer[]
  whole(message: ScriptedMessage): unknown
  count(tokens: number): unknown
  /** What answers a request for embeddings. */
  embeddings?(body: Readonly<Record<string, unknown>>): unknown
  readonly streamType: string
  /** An error in the format of such an upstream. */
  error(status: number, message: string): unknown
  /** What such an upstream sends in a stream that it cannot finish. */
  readonly brokenFrame: Buffer
}

/** Characters of a delta, about what a model sends at once. */
const deltaLength = 16

/** `text` in pieces of a delta's length, cut between characters. */
export function pieces(text: string): string[] {
  const points = [...text]
  const cut: string[] = []
  for (let at = 0; at < points.length; at += deltaLength) cut.push(points.slice(at, at + deltaLength).join(''))
  return cut
}

/** A frame of server-sent events without a name. */
export const dataFrame = (value: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)

/** A count of a usage object, 0 when it has none of that name. */
export const counted = ({ usage }: ScriptedMessage, name: string): number => Number(usage[name] ?? 0)

/** Cached and fresh tokens together, as all protocols but Anthropic's count them. */
export const allInput = (message: ScriptedMessage): number =>
  counted(message, 'input_tokens') + counted(message, 'cache_read_input_tokens')

/** Searches of the web that the answer reports it made. */
export const searchesIn = ({ usage }: ScriptedMessage): number => {
  const { server_tool_use: made } = usage as { readonly server_tool_use?: { readonly web_search_requests?: number } }
  return made?.web_search_requests ?? 0
}
