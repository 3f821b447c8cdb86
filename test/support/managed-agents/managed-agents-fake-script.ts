import type { Json } from '../../../src/server/platform/json.ts'

/** What the fake agent does in a turn, in order. By default the turn ends in `end_turn`. */
export type Step =
  /** Sends it as text, in these pieces first when the reader wants to see it grow. */
  | { readonly say: string; readonly pieces?: readonly string[] }
  /** Uses a tool; with `ask` a person is waited for, and a denied call gives an error. */
  | {
      readonly use: string
      readonly input?: Json
      readonly result: string
      readonly ask?: boolean
      readonly mcp?: string
    }
  /** Uses several tools that all ask at once. */
  | { readonly askAll: readonly string[] }
  /** A tool of the client: waits for its result, and reports it. */
  | { readonly custom: string }
  /** Any event; it gets an id and a time unless it has them. */
  | { readonly raw: Json }
  /** Holds the turn there. */
  | { readonly until: Promise<unknown> }
  /** Ends all streams. */
  | { readonly cut: 'end' | 'reset' }
  /** Writes these very bytes to all streams. */
  | { readonly bytes: string }
  | { readonly end: Json }
  /** The turn just never ends. */
  | { readonly hang: true }

export interface Switches {
  /** Streams end at each idle. */
  closeAtIdle: boolean
  /** Streams end as soon as they are open. */
  closeAtOnce: boolean
  /** Streams begin at the first event of the session, as those of this service do. */
  replays: boolean
  /** Frames have no `event:` line. */
  bareFrames: boolean
  /** Events have no ids. */
  noIds: boolean
  /** A stream is reset after so many frames. */
  dropAfter: number
  /** Neither user messages nor running states are listed or streamed. */
  isTerse: boolean
  /** A message waits in the queue until then. */
  hold: Promise<unknown> | undefined
  /** While a message waits for its turn there is an idle of something that was before. */
  staleIdle: boolean
}

export type Script = (text: string, turn: number) => readonly Step[]
