import type { Argument, Command, Option } from 'commander'
import type { Client } from '../client/client.ts'
import { type Candidate, candidatesOf, type Finder, idOf, NameArgument, NameOption } from './names.ts'
import { plainLine, plainText } from './plain-text.ts'

/** One word that the shell may insert. */
export interface Suggestion {
  readonly value: string
  readonly description: string
}

/** What the words before the cursor mean. */
interface Position {
  readonly command: Command
  /** Values of the arguments before the cursor. */
  readonly values: readonly string[]
  /** Option whose value is at the cursor. */
  readonly option: Option | undefined
  /** False after `--`. */
  readonly hasOptions: boolean
}

/** Pages of names that a completion may ask for. */
const maxPages = 1

/** Returns the words that can stand at the cursor, which is in the last of `words`. */
export async function suggestions(
  program: Command,
  words: readonly string[],
  client: Client,
): Promise<readonly Suggestion[]> {
  const current = unquoted(words.at(-1) ?? '')
  const { command, values, option, hasOptions } = positionOf(program, words.slice(0, -1))
  const matching = (all: readonly Suggestion[]) => all.filter(({ value }) => value.startsWith(current))
  if (option) return valuesOf(option, { client, current, params: [] })
  if (hasOptions && current.startsWith('-')) return matching(flagsOf(command))
  if (values.length === 0 && command.commands.length > 0) return matching(commandsOf(command))
  const argument = command.registeredArguments[values.length]
  if (!argument) return []
  return valuesOf(argument, { client, current, params: await idsOf(client, command, values) })
}

/** Removes the quoting of an unfinished word. */
const unquoted = (word: string): string => word.replace(/^["']/, '').replaceAll(/\\(.)/g, '$1')

function positionOf(program: Command, words: readonly string[]): Position {
  let command = program
  let option: Option | undefined
  let hasOptions = true
  const values: string[] = []
  for (const word of words) {
    if (option) {
      option = undefined
    } else if (hasOptions && word.startsWith('-')) {
      hasOptions = word !== '--'
      option = optionWithValue(command, word)
    } else {
      const below = values.length === 0 ? commandIn(command, word) : undefined
      command = below ?? command
      if (!below) values.push(unquoted(word))
    }
  }
  return { command, values, option, hasOptions }
}

const commandIn = (group: Command, word: string): Command | undefined =>
  group.commands.find(command => command.name() === word || command.aliases().includes(word))

/** Returns the option of a flag if its value is the next word. */
function optionWithValue(command: Command, flag: string): Option | undefined {
  const option = allOptions(command).find(({ long, short }) => long === flag || short === flag)
  return option && (option.required || option.optional) ? option : undefined
}

/** Options of a command and of the commands above it. */
function allOptions(command: Command): readonly Option[] {
  const above = command.parent ? allOptions(command.parent).filter(({ long }) => long !== '--version') : []
  return [...command.options, ...above]
}

const flagsOf = (command: Command): Suggestion[] => [
  ...allOptions(command)
    .filter(({ hidden }) => !hidden)
    .map(({ long, description }) => ({ value: long ?? '', description: plainLine(description, 80) })),
  { value: '--help', description: 'display help for command' },
]

const commandsOf = (command: Command): Suggestion[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map(below => ({ value: below.name(), description: plainLine(below.description(), 80) }))

/** Replaces the names before the cursor by ids, for lists that depend on them. */
async function idsOf(client: Client, command: Command, values: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const [at, text] of values.entries()) {
    const argument = command.registeredArguments[at]
    ids.push(argument instanceof NameArgument ? await idOf(client, argument.finder, { text, params: ids }) : text)
  }
  return ids
}

interface Search {
  readonly client: Client
  readonly current: string
  readonly params: readonly string[]
}

async function valuesOf(place: Argument | Option, search: Search): Promise<readonly Suggestion[]> {
  if (place instanceof NameArgument || place instanceof NameOption) return named(place.finder, search)
  const choices = place.argChoices ?? []
  return choices.filter(choice => choice.startsWith(search.current)).map(value => ({ value, description: '' }))
}

/** Returns names, or ids where objects have no unique name or the word begins like an id. */
async function named(finder: Finder, { client, current, params }: Search): Promise<Suggestion[]> {
  const found = await candidatesOf(client, finder, params, maxPages)
  const counts = Map.groupBy(found, ({ name }) => name)
  const isUsable = ({ name }: Candidate) => name !== '' && name === plainText(name).trim() && !/\s{2}|[\t\n]/.test(name)
  return found.flatMap(candidate => {
    const { id, name } = candidate
    const isUnique = isUsable(candidate) && counts.get(name)?.length === 1
    const isByName = isUnique && (finder.isByName === true || current !== '')
    if (isByName && name.startsWith(current)) return [{ value: name, description: name === id ? '' : id }]
    return id.startsWith(current) ? [{ value: id, description: plainLine(name, 60) }] : []
  })
}
