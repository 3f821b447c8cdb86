import { readFileSync, writeFileSync } from 'node:fs'
import type { KeysReport } from '../server/litellm/import-keys.ts'
import type { ImportFinding } from '../server/litellm/report.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService, ServerInputs } from './local-service.ts'
import { dim, type Out, type Piece, plain } from './out.ts'

interface ImportArguments extends ServerInputs {
  /** Path of LiteLLM's configuration file. */
  readonly config: string | undefined
  /** Path of the file to write. */
  readonly output: string | undefined
  /** Address of LiteLLM's database; true: that of LITELLM_DATABASE_URL. */
  readonly database: string | true | undefined
  readonly isDryRun: boolean
}

/** `import litellm`: converts the configuration, imports the keys, and lists what became of each setting. */
export async function importLiteLlm(server: LocalService, args: ImportArguments, out: Out): Promise<ExitCode> {
  const { config: path, database, isDryRun } = args
  if (path === undefined && database === undefined)
    throw new CommandFailed('give --config <file>, --database, or both', exitCodes.usage)
  const converted = path === undefined ? undefined : await server.liteLlm.convert(readText(path))
  const written = converted && writtenTo(args, converted.text)
  const keys = database === undefined ? undefined : await keysFrom(server, database, args)
  const findings = [...(converted?.findings ?? []), ...(keys?.findings ?? [])]
  out.data({
    dry_run: isDryRun,
    ...(converted && { config: converted.text }),
    ...(keys && { keys: { created: keys.created, unchanged: keys.unchanged, skipped: keys.skipped } }),
    findings,
  })
  if (converted && written === undefined) out.text(plain(converted.text))
  printFindings(findings, out)
  if (written !== undefined) out.note(`Wrote ${written}.`)
  if (keys) out.note(summaryOf(keys, isDryRun))
  return exitCodes.ok
}

/** Returns the path of the written file; undefined if the configuration is to be printed. */
function writtenTo({ output, isDryRun }: ImportArguments, text: string): string | undefined {
  if (output === undefined || isDryRun) return undefined
  writeNew(output, text)
  return output
}

async function keysFrom(server: LocalService, database: string | true, args: ImportArguments): Promise<KeysReport> {
  const { env, overrides, isDryRun } = args
  const sourceUrl = addressOf(database, env)
  return server.liteLlm.importKeys(await server.configure({ env, overrides }), { sourceUrl, isDryRun })
}

const summaryOf = ({ created, unchanged, skipped }: KeysReport, isDryRun: boolean): string =>
  `Keys: ${created} ${isDryRun ? 'would be created' : 'created'}, ${unchanged} imported before, ${skipped} left out.`

function addressOf(given: string | true, env: ServerInputs['env']): string {
  const url = given === true ? env['LITELLM_DATABASE_URL'] : given
  if (url) return url
  throw new CommandFailed("set LITELLM_DATABASE_URL to the address of LiteLLM's database", exitCodes.usage)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandFailed(`cannot read ${path} (${codeOf(error)})`, exitCodes.usage)
  }
}

/** Never overwrites a file with other content. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && readText(path) === text) return
    const reason =
      codeOf(error) === 'EEXIST' ? 'it exists with other content; remove it or choose another name' : codeOf(error)
    throw new CommandFailed(`cannot write ${path}: ${reason}`, exitCodes.usage)
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown error'

const marks: Readonly<Record<ImportFinding['state'], Piece>> = {
  carried: { text: 'carried over   ', tone: 'good' },
  approximated: { text: 'approximated   ', tone: 'warning' },
  unsupported: { text: 'NOT SUPPORTED  ', tone: 'bad' },
}

/** Prints the report to standard error, so that standard output is the configuration alone. */
function printFindings(findings: readonly ImportFinding[], out: Out): void {
  for (const { setting, state, detail, next } of findings) {
    out.note(marks[state], plain(`${setting}: ${detail}`))
    if (next !== undefined) out.note(dim(`                → ${next}`))
  }
}
