import { aliasPattern, apiSpecs, builtInRuntimeIds } from '../../contract/runtimes.ts'
import { closestTo } from '../platform/closest.ts'
import type { ConfiguredHarness } from './config.ts'
import type { ConfigFile, HarnessEntry, Place } from './file.ts'
import { isUnsendable } from './providers.ts'
import type { Say } from './yaml-shape.ts'

interface Options {
  readonly file: ConfigFile
  readonly report: (text: string, place: Place) => void
}

type Spec = ConfiguredHarness['apiSpec']
type Entry = Partial<HarnessEntry>

/** Where a protocol is spoken unless somebody says otherwise. The others have no address of their own. */
export const runtimeBases = {
  cursor: 'https://api.cursor.com',
  claude_managed_agents: 'https://api.anthropic.com',
} as const

/** The specs of programs that the service can start. */
const startedSpecs: readonly Spec[] = ['acp', 'opencode']

/** The harnesses of the file's `runtime_harnesses`. Only here can a program be named that the service starts. Security: S30. */
export function harnessesOfFile({ file, report }: Options): ConfiguredHarness[] {
  const aliases = new Set<string>()
  return (file.value.runtime_harnesses ?? []).flatMap((entry, index) => {
    if (!entry) return []
    const say: Say = (text, ...path) =>
      report(`runtime_harnesses[${index}]${text}`, file.place(['runtime_harnesses', index, ...path]))
    const alias = checkedAlias(entry, aliases, say)
    const apiSpec = checkedSpec(entry, say)
    if (alias === undefined || apiSpec === undefined) return []
    aliases.add(alias)
    const target = checkedTarget(entry, apiSpec, say)
    return [{ alias, apiSpec, displayName: displayNameOf(entry, alias), apiKey: checkedKey(entry, say), ...target }]
  })
}

function checkedAlias(entry: Entry, taken: ReadonlySet<string>, say: Say): string | undefined {
  const { alias } = entry
  if (alias === undefined) {
    // What is there but of a wrong type has been reported by the reader of the file.
    if (!('alias' in entry)) say('.alias is required')
    return undefined
  }
  if (!new RegExp(aliasPattern).test(alias)) say('.alias may hold letters, digits, _ and -, at most 64', 'alias')
  else if ((builtInRuntimeIds as readonly string[]).includes(alias))
    say(`.alias ${alias} is a built-in runtime`, 'alias')
  else if (taken.has(alias)) say(`.alias ${alias} is there twice`, 'alias')
  return alias
}

function checkedSpec(entry: Entry, say: Say): Spec | undefined {
  const { api_spec: given } = entry
  if (given === undefined) {
    if (!('api_spec' in entry)) say('.api_spec is required')
    return undefined
  }
  const spec = apiSpecs.find(each => each === given)
  const near = closestTo(given, apiSpecs)
  if (!spec)
    say(
      `.api_spec must be one of ${apiSpecs.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
      'api_spec',
    )
  return spec
}

const displayNameOf = ({ display_name }: Entry, alias: string): string => display_name?.trim() || alias

type Target = Pick<ConfiguredHarness, 'apiBase' | 'command' | 'env' | 'isolation'>

/** A program to start, or an address to call: one of them. */
function checkedTarget(entry: Entry, spec: Spec, say: Say): Target {
  const { env = {}, api_base } = entry
  const isStarted = 'command' in entry
  if (isStarted && !startedSpecs.includes(spec)) say(`.command is not for ${spec}: it is called at api_base`, 'command')
  if (isStarted && 'api_base' in entry) say(' has both command and api_base; keep one')
  if (!isStarted && spec === 'acp') say('.command is required for acp')
  if (!isStarted && 'env' in entry) say('.env is for programs that command starts', 'env')
  if (!isStarted && 'sandbox' in entry) say('.sandbox is for programs that command starts', 'sandbox')
  if (isStarted) return { apiBase: '', ...checkedProgram({ ...entry, env }, say) }
  const base = api_base ?? ownBase(spec)
  if (base === undefined && !('api_base' in entry) && spec !== 'acp') say(`.api_base is required for ${spec}`)
  return { apiBase: base === undefined ? '' : plainBase(base, say), command: undefined, env: {} }
}

const ownBase = (spec: Spec): string | undefined =>
  spec === 'cursor' || spec === 'claude_managed_agents' ? runtimeBases[spec] : undefined

function checkedProgram({ command, env = {}, sandbox }: Entry, say: Say): Omit<Target, 'apiBase'> {
  if (sandbox !== undefined && sandbox !== 'none')
    say('.sandbox can only be "none"; leave it out for a sandbox', 'sandbox')
  const isolation = sandbox === 'none' ? ({ isolation: 'none' } as const) : {}
  return { command: checkedCommand(command, say), env: checkedEnv(env, say), ...isolation }
}

function checkedCommand(command: Entry['command'], say: Say): string[] {
  const words = command?.filter(word => word !== undefined) ?? []
  if (command && (command.length === 0 || words[0]?.trim() === '')) say('.command must name a program', 'command')
  if (words.some(word => word.includes('\0'))) say('.command holds a zero byte', 'command')
  return words
}

function checkedEnv(env: NonNullable<Entry['env']>, say: Say): Record<string, string> {
  const given = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  for (const [name, value] of given) {
    if (!/^[A-Za-z_]\w*$/.test(name) || value.includes('\0')) say(`.env.${name} cannot be a variable`, 'env', name)
  }
  return Object.fromEntries(given)
}

function plainBase(text: string, say: Say): string {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    say('.api_base must be an https:// or http:// address', 'api_base')
    return ''
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    say('.api_base must hold no user name, query or fragment', 'api_base')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

function checkedKey({ api_key: key }: Entry, say: Say): string | undefined {
  if (key !== undefined && (key.trim() === '' || isUnsendable(key)))
    say('.api_key is empty or holds a character that no HTTP header can carry', 'api_key')
  return key
}
