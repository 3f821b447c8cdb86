import { liveTexts } from './deltas.ts'
import type { Group, Item, LiveText, Prompt, Turn, TurnEnd, View } from './view.ts'

/** A row of the virtual list. An unchanged row is the same object as before. */
export type Row = {
  /** Unique in the list, and the same as long as the row shows the same thing. */
  readonly key: string
  readonly turnKey: string
  /** Group of the row; undefined for rows of the turn itself. */
  readonly groupKey: string | undefined
  /** All events that the row shows. */
  readonly eventIds: readonly string[]
} & RowContent

type RowContent =
  | {
      readonly kind: 'prompt'
      readonly prompt: Prompt
      readonly isJoined: boolean
      readonly startedAt: string | undefined
    }
  /** Header of a model request, with all that belongs to it in `group`. */
  | { readonly kind: 'request'; readonly group: Group }
  | { readonly kind: 'item'; readonly item: Item; readonly group: Group }
  | { readonly kind: 'end'; readonly end: TurnEnd; readonly turn: Turn }
  | { readonly kind: 'live'; readonly live: LiveText }

interface RowOptions {
  /** Keys of turns and groups whose content is hidden; absent: none. */
  readonly collapsed?: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

/** Returns the transcript as a flat list. Prompts that wait are not in it: they are in `view.waiting`. */
export function rowsOf(view: View, { collapsed = none }: RowOptions = {}): Row[] {
  const rows: Row[] = []
  for (const [at, turn] of view.turns.entries()) {
    const isActive = at === view.run?.turn
    const { prompt } = turn
    if (prompt) rows.push(promptRow(turn, prompt))
    if (!collapsed.has(turn.key)) {
      for (const group of turn.groups) pushGroup(rows, { turn, group, collapsed })
      if (isActive) rows.push(...liveTexts(view).map(live => liveRow(turn, live)))
    }
    if (turn.end) rows.push(endRow(turn, turn.end))
  }
  return rows
}

interface GroupOf {
  readonly turn: Turn
  readonly group: Group
  readonly collapsed: ReadonlySet<string>
}

function pushGroup(rows: Row[], { turn, group, collapsed }: GroupOf): void {
  const all = groupRows(turn.key, group)
  if (!collapsed.has(group.key)) rows.push(...all)
  else rows.push(...all.filter(({ kind }) => kind !== 'item'))
}

const promptRows = new WeakMap<Prompt, Row>()
const rowsOfGroups = new WeakMap<Group, readonly Row[]>()
const endRows = new WeakMap<Turn, Row>()
const liveRows = new WeakMap<LiveText, Row>()

function promptRow(turn: Turn, prompt: Prompt): Row {
  const known = promptRows.get(prompt)
  const eventIds = [...(prompt.eventId === undefined ? [] : [prompt.eventId]), ...turn.eventIds]
  if (known?.kind === 'prompt' && known.startedAt === turn.startedAt && known.eventIds.length === eventIds.length) {
    return known
  }
  const { key, startedAt } = turn
  const row: Row = { kind: 'prompt', ...placeOf(`prompt:${key}`, key), prompt, isJoined: false, startedAt, eventIds }
  promptRows.set(prompt, row)
  return row
}

const placeOf = (key: string, turnKey: string) => ({ key, turnKey, groupKey: undefined })

function groupRows(turnKey: string, group: Group): readonly Row[] {
  const known = rowsOfGroups.get(group)
  if (known) return known
  const place = { turnKey, groupKey: group.key }
  const joined = group.joined.map((prompt): Row => {
    const eventIds = prompt.eventId === undefined ? [] : [prompt.eventId]
    const startedAt = group.startedAt
    return {
      kind: 'prompt',
      key: `joined:${prompt.id}:${group.key}`,
      ...place,
      prompt,
      isJoined: true,
      startedAt,
      eventIds,
    }
  })
  const hasHeader = group.kind === 'request' || group.items.length === 0
  const header: Row = { kind: 'request', key: group.key, ...place, group, eventIds: group.eventIds }
  const items = group.items.map((item, at): Row => {
    const ownIds = eventIdsOf(item)
    // A group without a header shows its events in its first row.
    const eventIds = at === 0 && !hasHeader ? [...ownIds, ...group.eventIds] : ownIds
    return { kind: 'item', key: `item:${item.key}`, ...place, item, group, eventIds }
  })
  const rows = [...joined, ...(hasHeader ? [header] : []), ...items]
  rowsOfGroups.set(group, rows)
  return rows
}

/** Returns the event of an item, and those that its row shows besides. */
export const eventIdsOf = (item: Item): readonly string[] =>
  item.kind === 'tool' || item.kind === 'thread' ? [item.key, ...item.eventIds] : [item.key]

function endRow(turn: Turn, end: TurnEnd): Row {
  const known = endRows.get(turn)
  if (known) return known
  const row: Row = { kind: 'end', ...placeOf(`end:${turn.key}`, turn.key), end, turn, eventIds: [end.eventId] }
  endRows.set(turn, row)
  return row
}

function liveRow(turn: Turn, live: LiveText): Row {
  const known = liveRows.get(live)
  if (known) return known
  // The stored event takes this key over, so that it replaces the row in its place.
  const row: Row = { kind: 'live', ...placeOf(`item:${live.eventId}`, turn.key), live, eventIds: [live.eventId] }
  liveRows.set(live, row)
  return row
}

/** Returns the place of the row that shows the event; -1 when none does. */
export const rowOfEvent = (rows: readonly Row[], eventId: string): number =>
  rows.findIndex(({ eventIds }) => eventIds.includes(eventId))

/**
 * Returns the place of the next model request after place `from`, or of the previous one before it; -1 when there is
 * none.
 */
export function nextRequest(rows: readonly Row[], from: number, direction: 'next' | 'previous'): number {
  const isRequest = (row: Row | undefined) => row?.kind === 'request'
  const step = direction === 'next' ? 1 : -1
  for (let at = from + step; at >= 0 && at < rows.length; at += step) if (isRequest(rows[at])) return at
  return -1
}
