import { Argument, type Command, type Option } from 'commander'
import type { Client, Request } from '../../client/client.ts'
import { ApiError } from '../../client/failures.ts'
import type { Result, Route } from '../../contract/route.ts'
import { type ConfirmOptions, confirm, yesOption } from '../confirm.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { type Finder, NameArgument } from '../names.ts'
import { dim, type Out } from '../out.ts'
import { someText } from '../parse.ts'
import { type Registry, withExamples } from '../world.ts'
import {
  attributeOf,
  type FieldOption,
  type FieldSchema,
  flagOf,
  optionsOfField,
  schemaOfField,
} from './schema-option.ts'

/** Argument of a command that becomes a parameter of the path, or a field of the query or body. */
export interface FieldArgument {
  /** Name of the parameter or field. */
  readonly field: string
  /** Name in the help; default: the field. */
  readonly name?: string
  readonly text: string
  readonly finder?: Finder
  /** True: the argument may be omitted. */
  readonly isOptional?: boolean
  readonly choices?: readonly string[]
}

/** What a command prints after its call. */
export interface Context {
  readonly client: Client
  readonly out: Out
  /** Values of the arguments; ids are complete. */
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /** Cursor of the next page of a list. */
  readonly nextCursor: string | undefined
}

/** Command that calls one route of the contract. */
export interface RouteCommand<R extends Route> {
  readonly name: string
  readonly route: R
  /** Default: the summary of the route. */
  readonly text?: string
  readonly args?: readonly FieldArgument[]
  /** Fields of the query and the body that are options; types, limits and descriptions come from the contract. */
  readonly fields?: readonly FieldOption[]
  /** Constant values of the query or body. */
  readonly constants?: Readonly<Record<string, unknown>>
  /** True: no field is required, because `complete` fills them in. */
  readonly isPartial?: boolean
  /** Adds options that are not fields of the route. */
  readonly extend?: (command: Command) => void
  /** Completes the request, such as with a secret from standard input. */
  readonly complete?: (request: Record<string, unknown>, context: Omit<Context, 'nextCursor'>) => Promise<object>
  /** What the command destroys, for the confirmation. */
  readonly destroys?: (args: readonly string[]) => string
  /** Prints the answer for people; the exit code is 0 by default. */
  readonly show: (answer: Result<R>, context: Context) => ExitCode | undefined | Promise<ExitCode | undefined>
  readonly examples: readonly string[]
}

/** Adds a command that calls a route. */
export function addRouteCommand<const R extends Route>(
  group: Command,
  registry: Registry,
  spec: RouteCommand<R>,
): Command {
  const { route, args = [], fields = [] } = spec
  const command = group.command(spec.name).description(spec.text ?? summaryOf(route))
  for (const argument of args) command.addArgument(argumentOf(argument))
  for (const field of fields) for (const option of optionsFor(spec, field)) command.addOption(option)
  for (const field of pagingOf(route)) for (const option of optionsFor(spec, field)) command.addOption(option)
  spec.extend?.(command)
  if (route.hasCsv) command.option('--csv', 'print all rows as comma-separated values')
  if (spec.destroys) command.option(...yesOption)
  command.action(
    registry.doing<Record<string, unknown> & ConfirmOptions>(async ({ client, out, given: typed }, options, values) => {
      const { world } = registry
      const context = { client, out, args: values, options, nowMs: world.nowMs() }
      const parts = requestOf(spec, { values, options })
      const request = spec.complete ? await spec.complete(parts, context) : parts
      if (spec.destroys) {
        await confirm(world, { action: spec.destroys(values), name: typed.at(-1) ?? '', isYes: options.yes }, out)
      }
      if (options['csv']) return printCsv(route, request, { client, out })
      const page = await client
        .page(route, ...([request] as unknown as [Request<R>]))
        .catch((error: unknown) => Promise.reject(withFlag(error, fields)))
      const nextCursor = page.nextCursor ?? cursorIn(page.data)
      out.data(documentOf(page, values))
      const code = await spec.show(page.data, { ...context, nextCursor })
      if (nextCursor !== undefined) out.note(dim(`More: --cursor ${nextCursor}`))
      return code ?? exitCodes.ok
    }),
  )
  return withExamples(command, spec.examples)
}

/** Prints all rows of a list as comma-separated values. */
async function printCsv(route: Route, request: object, { client, out }: Pick<Context, 'client' | 'out'>) {
  if (out.isJson) throw new CommandFailed('--csv and --json cannot be used together', exitCodes.usage)
  const { query = {} } = request as { readonly query?: object }
  const response = await client.open(route, { ...request, query: { ...query, format: 'csv' } })
  out.text(await response.text())
  return exitCodes.ok
}

const summaryOf = ({ summary }: Route): string =>
  /^[A-Z][a-z]/.test(summary) ? summary.charAt(0).toLowerCase() + summary.slice(1) : summary

function argumentOf({
  field,
  name = field.replaceAll('_', '-'),
  text,
  finder,
  isOptional,
  choices,
}: FieldArgument): Argument {
  const spelt = isOptional ? `[${name}]` : `<${name}>`
  if (finder) return new NameArgument(spelt, text, finder)
  const argument = new Argument(spelt, text)
  return choices ? argument.choices([...choices]) : argument.argParser(someText)
}

function optionsFor(
  { route, isPartial }: Pick<RouteCommand<Route>, 'route' | 'isPartial'>,
  field: FieldOption,
): Option[] {
  const inQuery = schemaOfField(route.query, field.field)
  const schema = inQuery ?? schemaOfField(route.body, field.field)
  if (schema === undefined) throw new Error(`route ${route.id} has no field ${field.field}`)
  const { required = [] } = (route.body ?? {}) as { readonly required?: readonly string[] }
  const options = optionsOfField(field, schema, inQuery !== undefined)
  const isRequired = !isPartial && inQuery === undefined && required.includes(field.field)
  return isRequired ? options.map(option => option.makeOptionMandatory()) : options
}

/** Returns `--limit` and `--cursor` of a list. */
function pagingOf({ query }: Route): FieldOption[] {
  const names = ['limit', 'cursor', 'page'].filter(name => schemaOfField(query, name) !== undefined)
  return names.map(field =>
    field === 'limit'
      ? { field, text: 'maximum number of results' }
      : { field, flag: 'cursor', value: 'text', text: 'cursor of the next page' },
  )
}

interface Given {
  readonly values: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

const given = (values: readonly string[]): string[] => values.filter(value => value !== undefined)

/** Distributes arguments and options over the parts of the request. */
function requestOf<R extends Route>(
  { route, args = [], fields = [], constants = {} }: RouteCommand<R>,
  { values, options }: Given,
): Record<string, unknown> {
  const flat: Record<string, unknown> = { ...constants }
  for (const [at, { field }] of args.entries()) if (values[at] !== undefined) flat[field] = values[at]
  for (const field of [...fields, ...pagingOf(route)]) {
    const value = options[attributeOf(field)]
    if (value !== undefined) flat[field.field] = value
  }
  const parts: Record<string, Record<string, unknown>> = {}
  for (const [name, value] of Object.entries(flat)) {
    const part = partOf(route, name)
    parts[part] = { ...parts[part], [name]: typed(schemaOfField(route[part], name), value) }
  }
  return route.body && !route.bodyOptional ? { body: {}, ...parts } : parts
}

const partOf = (route: Route, name: string): 'params' | 'query' | 'body' =>
  route.path.includes(`{${name}}`) ? 'params' : schemaOfField(route.query, name) ? 'query' : 'body'

/** Arguments are text; a numeric parameter of the path stays text, because it is part of the address. */
const typed = (schema: FieldSchema | undefined, value: unknown): unknown =>
  schema?.type === 'integer' && typeof value === 'string' ? Number(value) : value

/** Cursors that are fields of the answer. */
function cursorIn(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const { next_cursor: next, next_page: page } = answer as { next_cursor?: string | null; next_page?: string | null }
  return next ?? page ?? undefined
}

/** The JSON document of an answer: its body; lists with their cursor; what was named when there is no body. */
function documentOf(
  { data, nextCursor }: { data: unknown; nextCursor: string | undefined },
  values: readonly string[],
) {
  if (Array.isArray(data)) return { data, next_cursor: nextCursor ?? null }
  return data ?? { ok: true, id: given(values).at(-1) ?? null }
}

/** Adds the flag to a rejection that names a field of the request. */
function withFlag(error: unknown, fields: readonly FieldOption[]): unknown {
  if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 422)) return error
  const field = fields.find(({ field }) => new RegExp(`\\b${field}\\b`).test(error.message))
  if (field === undefined) return error
  return new ApiError(`${error.message} (option --${flagOf(field)})`, error)
}
