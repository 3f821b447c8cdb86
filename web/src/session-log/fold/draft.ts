import type { Group, Item, Prompt, Run, Turn, View } from '../view.ts'
import type { Bookmarks, Place } from './bookmarks.ts'

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

/** Names of the bookmarks with places. */
type Mark = keyof Bookmarks

/**
 * A view while events are added. Copies each turn, group and list at most once, so that a batch costs time in proportion
 * to its events. The view that it started from does not change.
 */
export class Draft {
  readonly #view: Mutable<View>
  /** Objects that only this draft has, which may be changed in place. */
  readonly #own = new Set<object>()

  constructor(view: View) {
    this.#view = { ...view }
  }

  /** The view with all changes so far. Do not change the draft afterwards. */
  get view(): View {
    return this.#view
  }

  set(changes: Partial<View>): void {
    Object.assign(this.#view, changes)
  }

  turnAt(place: number): Turn | undefined {
    return this.#view.turns[place]
  }

  groupAt({ turn, group }: Pick<Place, 'turn' | 'group'>): Group | undefined {
    return this.turnAt(turn)?.groups[group]
  }

  itemAt(place: Place): Item | undefined {
    return this.groupAt(place)?.items[place.item]
  }

  /** Adds a turn and returns its place. */
  addTurn(turn: Turn): number {
    return this.#turns().push(turn) - 1
  }

  /** Adds a group to a turn and returns its place. */
  addGroup(turn: number, group: Group): number {
    return this.#groups(turn).push(group) - 1
  }

  /** Adds an item to the last group of a turn. */
  addItem(turn: number, item: Item): Place {
    const group = this.#groups(turn).length - 1
    return { turn, group, item: this.#items({ turn, group }).push(item) - 1 }
  }

  changeTurn(place: number, changes: Partial<Turn>): void {
    const turn = this.#turn(place)
    if (turn) Object.assign(turn, changes)
  }

  changeGroup(place: Pick<Place, 'turn' | 'group'>, changes: Partial<Group>): void {
    const group = this.#group(place)
    if (group) Object.assign(group, changes)
  }

  changeItem<Kind extends Item>(place: Place, changes: Partial<Omit<Kind, 'kind'>>): void {
    const item = this.itemAt(place)
    if (item) this.#items(place)[place.item] = { ...item, ...changes } as Item
  }

  changeJoined(place: Place, changes: Partial<Prompt>): void {
    const joined = this.groupAt(place)?.joined ?? []
    this.changeGroup(place, { joined: joined.map((each, at) => (at === place.item ? { ...each, ...changes } : each)) })
  }

  changeRun(changes: Partial<Run>): void {
    const { run } = this.#view
    if (run) this.#view.run = { ...run, ...changes }
  }

  mark(name: Mark, id: string, place: Place): void {
    this.#marks(name).set(id, place)
  }

  unmark(name: Mark, id: string): void {
    if (this.#view.bookmarks[name].has(id)) this.#marks(name).delete(id)
  }

  placeOf(name: Mark, id: string): Place | undefined {
    return this.#view.bookmarks[name].get(id)
  }

  #marks(name: Mark): Map<string, Place> {
    const marks = this.#view.bookmarks[name]
    if (this.#own.has(marks)) return marks as Map<string, Place>
    const copy = new Map(marks)
    this.#own.add(copy)
    this.#view.bookmarks = { ...this.#view.bookmarks, [name]: copy }
    return copy
  }

  #turns(): Turn[] {
    const turns = this.#owned(this.#view.turns)
    this.#view.turns = turns
    return turns
  }

  #turn(place: number): Mutable<Turn> | undefined {
    const turns = this.#turns()
    const turn = turns[place]
    if (!turn) return undefined
    const own = this.#ownedObject(turn)
    turns[place] = own
    return own
  }

  #groups(place: number): Group[] {
    const turn = this.#turn(place)
    const groups = this.#owned(turn?.groups ?? [])
    if (turn) turn.groups = groups
    return groups
  }

  #group({ turn, group: place }: Pick<Place, 'turn' | 'group'>): Mutable<Group> | undefined {
    const groups = this.#groups(turn)
    const group = groups[place]
    if (!group) return undefined
    const own = this.#ownedObject(group)
    groups[place] = own
    return own
  }

  #items(place: Pick<Place, 'turn' | 'group'>): Item[] {
    const group = this.#group(place)
    const items = this.#owned(group?.items ?? [])
    if (group) group.items = items
    return items
  }

  #owned<Value>(list: readonly Value[]): Value[] {
    if (this.#own.has(list)) return list as Value[]
    const copy = [...list]
    this.#own.add(copy)
    return copy
  }

  #ownedObject<Value extends object>(value: Value): Mutable<Value> {
    if (this.#own.has(value)) return value
    const copy = { ...value }
    this.#own.add(copy)
    return copy
  }
}
