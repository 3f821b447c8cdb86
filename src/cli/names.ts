import { Argument, type Command, Option } from 'commander'
import type { Client } from '../client/client.ts'
import { ApiError, ServiceUnreachable } from '../client/failures.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import { someText } from './parse.ts'
import { plainLine } from './plain-text.ts'

/** Object that a person may choose by its id, a part of the id, or its name. */
export interface Candidate {
  readonly id: string
  readonly name: string
}

/** One page of candidates. */
export interface CandidatePage {
  readonly candidates: readonly Candidate[]
  readonly nextCursor?: string | null | undefined
}

/** Finds objects of one kind. */
export interface Finder {
  /** Noun for messages, such as `agent`. */
  readonly kind: string
  /** Matches a whole id, which needs no search. */
  readonly wholeId?: RegExp
  /** True when people know the objects by their names, not by their ids. */
  readonly isByName?: true
  /** True when the names are the ids; then a name must be whole, and the list only serves completion. */
  readonly isExact?: true
  /** Lists the objects, newest first. `params` are the values of the arguments before. */
  list(client: Client, page: { readonly cursor?: string }, params: readonly string[]): Promise<CandidatePage>
}

/** Argument whose value is found by a finder. */
export class NameArgument extends Argument {
  readonly finder: Finder

  constructor(name: string, description: string, finder: Finder) {
    super(name, description)
    this.finder = finder
    this.argParser(someText)
  }
}

/** Option whose value is found by a finder. */
export class NameOption extends Option {
  readonly finder: Finder

  constructor(flags: string, description: string, finder: Finder) {
    super(flags, description)
    this.finder = finder
    this.argParser(someText)
  }
}

/** Pages that a search reads; the objects of later ones need their whole id. */
const maxPages = 10
/** Candidates that an error names. */
const maxNamed = 5

/** Replaces the arguments and options that name an object by its id. */
export async function withIds(
  client: Client,
  command: Command,
  given: { readonly args: readonly string[]; readonly options: object },
): Promise<{ args: string[]; options: object }> {
  const args: string[] = []
  for (const [at, text] of given.args.entries()) {
    const argument = command.registeredArguments[at]
    args.push(argument instanceof NameArgument ? await idOf(client, argument.finder, { text, params: args }) : text)
  }
  const options: Record<string, unknown> = { ...given.options }
  for (const option of command.options) {
    const value = options[option.attributeName()]
    if (option instanceof NameOption && typeof value === 'string')
      options[option.attributeName()] = await idOf(client, option.finder, { text: value, params: args })
  }
  return { args, options }
}

/**
 * Returns the id of the object that `text` names: its id, its name, or the start or the end of its id. Returns `text`
 * when no object matches, so that the service reports what is missing. Throws when several match.
 */
export async function idOf(
  client: Client,
  finder: Finder,
  { text, params = [] }: { readonly text: string; readonly params?: readonly string[] },
): Promise<string> {
  if (finder.isExact || finder.wholeId?.test(text)) return text
  const found = await candidatesOf(client, finder, params)
  if (found.some(({ id }) => id === text)) return text
  const byName = found.filter(({ name }) => name === text)
  const matching = byName.length > 0 ? byName : found.filter(({ id }) => isPartOf(id, text))
  if (matching.length <= 1) return matching[0]?.id ?? text
  const named = matching.slice(0, maxNamed).map(({ id, name }) => `\n  ${id}  ${plainLine(name, 60)}`.trimEnd())
  const more = matching.length > maxNamed ? `\n  and ${matching.length - maxNamed} more` : ''
  throw new CommandFailed(
    `${finder.kind} "${text}" is ambiguous; use a longer part of the id:${named.join('')}${more}`,
    exitCodes.usage,
  )
}

/** Three characters distinguish little, but fewer match by accident. */
const minPartLength = 3

/** Ids begin with their time, so the end of an id is the shorter distinction. */
const isPartOf = (id: string, text: string): boolean =>
  text.length >= minPartLength &&
  (id.startsWith(text) || id.endsWith(text) || id.slice(id.indexOf('_') + 1).startsWith(text))

/** Returns the objects of the first `pages`. After a failure the command itself reports what is wrong. */
export async function candidatesOf(
  client: Client,
  finder: Finder,
  params: readonly string[],
  pages = maxPages,
): Promise<Candidate[]> {
  const found: Candidate[] = []
  let cursor: string | undefined
  try {
    for (let page = 0; page < pages; page++) {
      const { candidates, nextCursor } = await finder.list(client, cursor === undefined ? {} : { cursor }, params)
      found.push(...candidates)
      if (!nextCursor) break
      cursor = nextCursor
    }
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof ServiceUnreachable)) throw error
  }
  return found
}
