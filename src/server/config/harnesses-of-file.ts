import { type ApiSpec, aliasPattern, apiSpecs } from '../../contract/runtimes.ts'
import { closestTo } from '../platform/closest.ts'
import { withoutTrailing } from '../platform/trailing.ts'
import type { ConfiguredHarness } from './agent-settings.ts'
import type { ConfigFile, HarnessEntry, Place } from './file.ts'
import { isUnsendable } from './providers.ts'
import { isBuiltInRuntime, runtimeSpecs } from './runtime-specs.ts'
import type { ReportAt } from './yaml-shape.ts'

interface Options {
  readonly file: ConfigFile
  readonly report: (text: string, place: Place) => void
}

type Entry = Partial<HarnessEntry>

/** Returns the runtimes of `runtime_harnesses`. Only this block can name programs to start. Security: S30. */
export function harnessesOfFile({ file, report }: Options): ConfiguredHarness[] {
  const aliases = new Set<string>()
  return (file.value.runtime_harnesses ?? []).flatMap((entry, index) => {
    if (!entry) return []
    const reportAt: ReportAt = (text, ...path) =>
      report(`runtime_harnesses[${index}]${text}`, file.place(['runtime_harnesses', index, ...path]))
    const alias = checkedAlias(entry, aliases, reportAt)
    const apiSpec = checkedSpec(entry, reportAt)
    if (alias === undefined || apiSpec === undefined) return []
    aliases.add(alias)
    const target = checkedTarget(entry, apiSpec, reportAt)
    return [
      { alias, apiSpec, displayName: displayNameOf(entry, alias), apiKey: checkedKey(entry, reportAt), ...target },
    ]
  })
}

function checkedAlias(entry: Entry, taken: ReadonlySet<string>, reportAt: ReportAt): string | undefined {
  const { alias } = entry
  if (alias === undefined) {
    // A value of a wrong type was reported while the file was parsed.
    if (!('alias' in entry)) reportAt('.alias is required')
    return undefined
  }
  if (!new RegExp(aliasPattern).test(alias)) reportAt('.alias must have 1 to 64 letters, digits, _ or -', 'alias')
  else if (isBuiltInRuntime(alias)) reportAt(`.alias ${alias} is a built-in runtime`, 'alias')
  else if (taken.has(alias)) reportAt(`.alias ${alias} is a duplicate`, 'alias')
  return alias
}

function checkedSpec(entry: Entry, reportAt: ReportAt): ApiSpec | undefined {
  const { api_spec: given } = entry
  if (given === undefined) {
    if (!('api_spec' in entry)) reportAt('.api_spec is required')
    return undefined
  }
  const spec = apiSpecs.find(each => each === given)
  const near = closestTo(given, apiSpecs)
  if (!spec)
    reportAt(
      `.api_spec must be one of ${apiSpecs.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
      'api_spec',
    )
  return spec
}

const displayNameOf = ({ display_name }: Entry, alias: string): string => display_name?.trim() || alias

type Target = Pick<ConfiguredHarness, 'apiBase' | 'command' | 'env' | 'isolation'>

/** Returns either a program to start or an address to call. */
function checkedTarget(entry: Entry, spec: ApiSpec, reportAt: ReportAt): Target {
  const { env = {}, api_base } = entry
  const { target, builtIn } = runtimeSpecs[spec]
  const isStarted = 'command' in entry
  if (isStarted && target === 'address') reportAt(`.command is not supported for ${spec}; use api_base`, 'command')
  if (isStarted && 'api_base' in entry) reportAt(' has both command and api_base; remove one')
  if (!isStarted && target === 'program') reportAt(`.command is required for ${spec}`)
  if (!isStarted && 'env' in entry) reportAt('.env requires command', 'env')
  if (!isStarted && 'sandbox' in entry) reportAt('.sandbox requires command', 'sandbox')
  if (isStarted) return { apiBase: '', ...checkedProgram({ ...entry, env }, reportAt) }
  const base = api_base ?? builtIn?.defaultBase
  if (base === undefined && !('api_base' in entry) && target !== 'program')
    reportAt(`.api_base is required for ${spec}`)
  return { apiBase: base === undefined ? '' : plainBase(base, reportAt), command: undefined, env: {} }
}

function checkedProgram({ command, env = {}, sandbox }: Entry, reportAt: ReportAt): Omit<Target, 'apiBase'> {
  if (sandbox !== undefined && sandbox !== 'none') reportAt('.sandbox must be "none" or omitted', 'sandbox')
  const isolation = sandbox === 'none' ? ({ isolation: 'none' } as const) : {}
  return { command: checkedCommand(command, reportAt), env: checkedEnv(env, reportAt), ...isolation }
}

function checkedCommand(command: Entry['command'], reportAt: ReportAt): string[] {
  const words = command?.filter(word => word !== undefined) ?? []
  if (command && (command.length === 0 || words[0]?.trim() === '')) reportAt('.command must name a program', 'command')
  if (words.some(word => word.includes('\0'))) reportAt('.command contains a zero byte', 'command')
  return words
}

function checkedEnv(env: NonNullable<Entry['env']>, reportAt: ReportAt): Record<string, string> {
  const given = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  for (const [name, value] of given) {
    if (!/^[A-Za-z_]\w*$/.test(name) || value.includes('\0'))
      reportAt(`.env.${name} is not a valid environment variable`, 'env', name)
  }
  return Object.fromEntries(given)
}

function plainBase(text: string, reportAt: ReportAt): string {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    reportAt('.api_base must be an https:// or http:// address', 'api_base')
    return ''
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    reportAt('.api_base must not have a user name, query or fragment', 'api_base')
  return `${url.origin}${withoutTrailing(url.pathname, '/')}`
}

function checkedKey({ api_key: key }: Entry, reportAt: ReportAt): string | undefined {
  if (key !== undefined && (key.trim() === '' || isUnsendable(key)))
    reportAt('.api_key is empty or contains a character that is not allowed in an HTTP header', 'api_key')
  return key
}
