import { shellQuoted } from '../../platform/shell-quoted.ts'
import { DemoWords, type Part, type Word } from './demo-words.ts'

/** Step that the demo model can take for a prompt. */
export type DemoStep =
  | { readonly kind: 'write'; readonly file: string; readonly content: string }
  | { readonly kind: 'read'; readonly file: string }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'ask'; readonly agent: string; readonly task: string }
  | { readonly kind: 'list' }

interface Found {
  readonly step: DemoStep
  /** Offset after the words of the request. */
  readonly end: number
}

/** Parses one kind of request that starts with the word `verb`. */
type Rule = (words: DemoWords, verb: Word) => Found | undefined

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(' '))

const createVerbs = setOf('create write make add save')
const createFillers = setOf('me a an the new file text called named')
const putVerbs = setOf('write put save')
const runVerbs = setOf('run execute')
const readVerbs = setOf('read show open print cat')
const listVerbs = setOf('list ls')
const me = setOf('me')
const the = setOf('the')
const file = setOf('file')
const command = setOf('command')
const allFiles = setOf('the all')
const places = setOf('files folder directory')
const targets = setOf('to into in')
const relatives = setOf('that which')
const relativeVerbs = setOf('says reads contains has')
const toWord = setOf('to')
const participles = setOf('saying reading containing')
const withWord = setOf('with')
const withNouns = setOf('text content contents word words line')

const quotedOrClause = (words: DemoWords, at: number): Part | undefined => words.quoted(at) ?? words.clause(at)

/** `create a.txt that says hello` */
const create: Rule = (words, verb) => {
  if (!createVerbs.has(verb.text)) return undefined
  const named = words.file(words.skipAll(verb.end, createFillers))
  if (!named) return undefined
  const content = contentAt(words, named.end)
  const text = content?.text ?? 'Written by the demo model.'
  return { step: { kind: 'write', file: named.text, content: text }, end: content?.end ?? named.end }
}

/** `that says hello`, `with the text "hello"` */
function contentAt(words: DemoWords, at: number): Part | undefined {
  const said = sayingAt(words, at)
  const from = said === undefined ? undefined : words.blank(words.colon(said))
  return from === undefined ? undefined : quotedOrClause(words, from)
}

function sayingAt(words: DemoWords, at: number): number | undefined {
  const participle = words.next(at, participles)
  if (participle) return participle.end
  const relative = words.next(at, relatives)
  if (relative) return words.next(relative.end, relativeVerbs)?.end
  const preposition = words.next(at, withWord)
  if (!preposition) return undefined
  const article = words.skip(preposition.end, the)
  return words.next(article, withNouns)?.end ?? article
}

/** `write "hello" to a.txt` */
const put: Rule = (words, verb) => {
  const from = putVerbs.has(verb.text) ? words.blank(verb.end) : undefined
  if (from === undefined) return undefined
  const content = words.quoted(from) ?? words.solid(from)
  const target = content && words.next(content.end, targets)
  if (!target) return undefined
  const named = words.file(words.skip(words.skip(target.end, the), file))
  return named && { step: { kind: 'write', file: named.text, content: content.text }, end: named.end }
}

/** `run the command ls -la` */
const run: Rule = (words, verb) => {
  if (!runVerbs.has(verb.text)) return undefined
  const from = words.blank(words.skip(words.skip(verb.end, the), command))
  const said = from === undefined ? undefined : quotedOrClause(words, from)
  return said && { step: { kind: 'run', command: said.text }, end: said.end }
}

/** `show me the file a.txt` */
const read: Rule = (words, verb) => {
  if (!readVerbs.has(verb.text)) return undefined
  const named = words.file(words.skip(words.skip(words.skip(verb.end, me), the), file))
  return named && { step: { kind: 'read', file: named.text }, end: named.end }
}

/** `ask researcher to "create a.txt"` */
const ask: Rule = (words, verb) => {
  const agent = verb.text === 'ask' ? words.word(words.skip(verb.end, the)) : undefined
  const to = agent && words.next(agent.end, toWord)
  const from = to && words.blank(to.end)
  const task = from === undefined ? undefined : quotedOrClause(words, from)
  return agent && task && { step: { kind: 'ask', agent: agent.text, task: task.text }, end: task.end }
}

/** `list`, `show me all files` */
const list: Rule = (words, verb) => {
  if (listVerbs.has(verb.text)) return { step: { kind: 'list' }, end: verb.end }
  if (verb.text !== 'show' && verb.text !== 'see') return undefined
  const place = words.next(words.skip(words.skip(verb.end, me), allFiles), places)
  return place && { step: { kind: 'list' }, end: place.end }
}

/** When several rules match at the same word, the longest match counts. */
const rules: readonly Rule[] = [create, put, run, read, ask, list]

/** Only this many characters of a prompt are parsed. */
const maxPromptLength = 2_000
const maxSteps = 8

/** Returns the steps that `prompt` requests, in order. A prompt without a known request lists the folder. */
export function planOf(prompt: string): readonly DemoStep[] {
  const words = new DemoWords(prompt.slice(0, maxPromptLength))
  const steps: DemoStep[] = []
  let taken = 0
  for (const word of words.all) {
    // A request inside another one belongs to its text: "run `ls`" is one step.
    if (word.start < taken) continue
    const found = longestOf(rules.flatMap(rule => rule(words, word) ?? []))
    if (!found) continue
    steps.push(found.step)
    if (steps.length === maxSteps) break
    taken = found.end
  }
  return steps.length === 0 ? [{ kind: 'list' }] : steps
}

const longestOf = (found: readonly Found[]): Found | undefined =>
  found.reduce<Found | undefined>((best, one) => (best && best.end >= one.end ? best : one), undefined)

/** Tool that the request offers. */
interface OfferedTool {
  readonly name: string
  /** Names of its parameters. */
  readonly parameters: readonly string[]
}

/** Call of an offered tool. */
interface ToolCall {
  readonly name: string
  readonly input: Readonly<Record<string, string>>
}

/** Returns the tools of a request body. Ignores invalid entries. */
export function offeredTools({
  tools,
  tool_choice: choice,
}: Readonly<Record<string, unknown>>): readonly OfferedTool[] {
  if (!Array.isArray(tools) || (choice as { type?: unknown } | undefined)?.type === 'none') return []
  return tools.flatMap(tool => {
    const { name, input_schema: schema } = (tool ?? {}) as {
      name?: unknown
      input_schema?: { properties?: unknown } | null
    }
    return typeof name === 'string' ? [{ name, parameters: Object.keys(schema?.properties ?? {}) }] : []
  })
}

/** Returns the call that executes `step`; undefined when no offered tool can. */
export function callFor(step: DemoStep, tools: readonly OfferedTool[]): ToolCall | undefined {
  if (step.kind === 'write') {
    const own = filled(tools, /^write(_file)?$/i, { file: step.file, text: step.content })
    if (own) return own
  }
  if (step.kind === 'read') {
    const own = filled(tools, /^read(_file)?$/i, { file: step.file })
    if (own) return own
  }
  if (step.kind === 'ask') {
    const isAgent = tools.some(({ name }) => name === `agent__${step.agent}`)
    return isAgent ? { name: `agent__${step.agent}`, input: { prompt: step.task } } : undefined
  }
  return filled(tools, /^(bash|shell)$/i, { command: commandFor(step) })
}

/** Parameter names in the tools of common agents. */
const spellings = {
  file: ['file_path', 'filePath', 'path', 'file'],
  text: ['content', 'text', 'contents'],
  command: ['command', 'cmd'],
}

function filled(
  tools: readonly OfferedTool[],
  name: RegExp,
  values: Readonly<Partial<Record<keyof typeof spellings, string>>>,
): ToolCall | undefined {
  const tool = tools.find(offered => name.test(offered.name))
  if (!tool) return undefined
  const input: Record<string, string> = {}
  for (const [meaning, value] of Object.entries(values)) {
    const names = spellings[meaning as keyof typeof spellings]
    input[names.find(spelling => tool.parameters.includes(spelling)) ?? names[0] ?? meaning] = value
  }
  return { name: tool.name, input }
}

function commandFor(step: Exclude<DemoStep, { kind: 'ask' }>): string {
  switch (step.kind) {
    case 'write':
      return `printf '%s\\n' ${shellQuoted(step.content)} > ${shellQuoted(step.file)}`
    case 'read':
      return `cat ${shellQuoted(step.file)}`
    case 'run':
      return step.command
    case 'list':
      return 'ls -la'
  }
}
