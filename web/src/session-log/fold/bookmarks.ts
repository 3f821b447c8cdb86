/** Place of a group, or of an item in it. */
export interface Place {
  readonly turn: number
  readonly group: number
  readonly item: number
}

/** Places of what later events may change, so that one event costs the same in a long and in a short log. */
export interface Bookmarks {
  /** Tool calls without a result, by the id of the call at the runtime. */
  readonly openCalls: ReadonlyMap<string, Place>
  /** The same calls, by the id of their event. */
  readonly openByEvent: ReadonlyMap<string, Place>
  /** Called sessions, by their id. */
  readonly threads: ReadonlyMap<string, Place>
  /** Prompts that joined the turn of another one and have not ended; `item` is the place in `joined`. */
  readonly joined: ReadonlyMap<string, Place>
}

export const noBookmarks: Bookmarks = {
  openCalls: new Map(),
  openByEvent: new Map(),
  threads: new Map(),
  joined: new Map(),
}
