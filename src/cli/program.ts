import { Command, CommanderError, Option } from 'commander'
import { apiVersion } from '../contract/api.ts'
import { addApprovalCommands } from './approval-commands.ts'
import { addBackupCommands } from './backup-commands.ts'
import { addCompletionCommands } from './completion-commands.ts'
import { addControlCommands } from './control-commands.ts'
import { type ExitCode, exitCodeHelp, exitCodes } from './exit-codes.ts'
import { addExportCommand } from './export-commands.ts'
import { exitCodeOf, reportFailure } from './failures.ts'
import { addImportCommands } from './import-commands.ts'
import { addKeyCommands } from './key-commands.ts'
import { addLocalCommands } from './local-commands.ts'
import { addMemoryCommands } from './memory-commands.ts'
import { addModelCommands } from './model-commands.ts'
import { withIds } from './names.ts'
import type { Sink } from './out.ts'
import { serviceUrl } from './parse.ts'
import { addAuditCommands } from './resources/audit.ts'
import { addBatchCommands } from './resources/batches.ts'
import { addBudgetCommands } from './resources/budgets.ts'
import { addConfigCommands } from './resources/config.ts'
import { addDatasetCommands } from './resources/datasets.ts'
import { addEnvironmentCommands } from './resources/environments.ts'
import { addExperimentCommands } from './resources/experiments.ts'
import { addFileCommands } from './resources/files.ts'
import { addMcpCommands } from './resources/mcp.ts'
import { addScheduleCommands } from './resources/schedules.ts'
import { addTeamCommands } from './resources/teams.ts'
import { addUserCommands } from './resources/users.ts'
import { addVaultCommands } from './resources/vault.ts'
import { addWebhookCommands } from './resources/webhooks.ts'
import { addRuntimeCommands } from './runtime-commands.ts'
import { addSessionCommands } from './session-commands.ts'
import { addSkillCommands } from './skill-commands.ts'
import { addWatchCommands } from './watch-commands.ts'
import { defaultUrl, type GlobalOptions, outOf, type Registry, toolsOf, type World, withExamples } from './world.ts'

/** Runs one command line, without the program's name. Returns the exit code; failures are printed, not thrown. */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
  let code: number = exitCodes.ok
  // Read here as well, since a command line with an error has no parsed options.
  let isJson = args.includes('--json')
  const registry: Registry = {
    world,
    doing: work => {
      return async (...parameters) => {
        const command = parameters.at(-1) as Command
        const options = command.optsWithGlobals<Parameters<typeof work>[1] & GlobalOptions>()
        isJson = options.json ?? false
        const tools = await toolsOf(world, options)
        const ids = await withIds(tools.client, command, { args: command.args, options })
        code = await work({ ...tools, given: command.args }, ids.options as typeof options, ids.args)
      }
    },
  }
  const program = programOf(registry, isJson ? { write: () => undefined } : world.stderr)
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    return failed(error, { world, isJson, program })
  }
}

interface Failing {
  readonly world: World
  readonly isJson: boolean
  readonly program: Command
}

/** Prints the failure unless commander has printed it as text. `--help` and `--version` are not failures. */
function failed(error: unknown, { world, isJson, program }: Failing): ExitCode {
  const out = outOf(world, isJson)
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok
    const message = error.code === 'commander.help' ? 'missing command' : error.message.replace(/^error: /, '')
    if (isJson) out.failure(message, { message, code: 'invalid_request' })
    return exitCodes.usage
  }
  reportFailure(out, error)
  const list = error instanceof Error ? listOf(program, error.message) : undefined
  if (list !== undefined) out.note(`Run "${list}" for the names and ids.`)
  return exitCodeOf(error)
}

/** Returns the command that lists the objects of the kind that is missing: `session x not found`. */
function listOf(program: Command, message: string): string | undefined {
  const [, kind] = /^([a-z]+) \S+ not found$/.exec(message) ?? []
  const group = program.commands.find(command => command.name() === `${kind}s`)
  const list = group?.commands.find(command => /^(ls|list)$/.test(command.name()))
  return list?.registeredArguments.every(({ required }) => !required) ? wordsOf(list) : undefined
}

/** Names that every command has besides its own name, so that people need not remember which one it is. */
const usualNames: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  list: ['ls'],
  rm: ['remove'],
  remove: ['rm'],
  revoke: ['rm', 'remove'],
}

function addUsualNames(command: Command): void {
  for (const name of usualNames[command.name()] ?? []) if (!command.aliases().includes(name)) command.alias(name)
}

/** Returns a command and all commands below it. */
export const allCommands = (command: Command): Command[] => [command, ...command.commands.flatMap(allCommands)]

/** Returns the words that call a command: `switchyard agents create`. */
const wordsOf = (command: Command): string =>
  command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`

/** Returns all commands; `usageErrors` gets the text of those that commander finds. */
export function programOf(registry: Registry, usageErrors: Sink = registry.world.stderr): Command {
  const { stdout } = registry.world
  const program = new Command('switchyard')
    .exitOverride()
    .configureOutput({ writeOut: text => stdout.write(text), writeErr: text => usageErrors.write(text) })
    .configureHelp({ showGlobalOptions: true })
    .description('A self-hosted agent platform: models, agents and durable sessions behind one API.')
    .version(apiVersion)
    .addOption(
      new Option(
        '--url <address>',
        `address of the service (default: SWITCHYARD_URL, the service that runs on the data folder, PORT, ${defaultUrl})`,
      ).argParser(serviceUrl),
    )
    .option(
      '--key <key>',
      'key (default: SWITCHYARD_KEY, GATEWAY_MASTER_KEY); other users can see an option in the process list',
    )
    .option('--json', 'print JSON instead of text')
    .addHelpText('after', exitCodeHelp)
  addLocalCommands(program, registry)
  addBackupCommands(program, registry)
  addExportCommand(program, registry)
  addImportCommands(program, registry)
  addSessionCommands(program, registry)
  addFileCommands(program, registry)
  addSkillCommands(program, registry)
  addApprovalCommands(program, registry)
  addMemoryCommands(program, registry)
  addKeyCommands(program, registry)
  addControlCommands(program, registry)
  addModelCommands(program, registry)
  addBatchCommands(program, registry)
  addRuntimeCommands(program, registry)
  addScheduleCommands(program, registry)
  addDatasetCommands(program, registry)
  addExperimentCommands(program, registry)
  addWebhookCommands(program, registry)
  addVaultCommands(program, registry)
  addUserCommands(program, registry)
  addTeamCommands(program, registry)
  addBudgetCommands(program, registry)
  addMcpCommands(program, registry)
  addEnvironmentCommands(program, registry)
  addAuditCommands(program, registry)
  addConfigCommands(program, registry)
  addWatchCommands(program, registry)
  addCompletionCommands(program, registry)
  for (const command of allCommands(program)) {
    addUsualNames(command)
    command.showHelpAfterError(`Run "${wordsOf(command)} --help" for its usage.`)
  }
  return withExamples(program, ['npm start', 'switchyard run "What files are here?"', 'switchyard sessions ls --json'])
}
