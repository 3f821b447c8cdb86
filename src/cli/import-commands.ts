import { Argument, type Command } from 'commander'
import { importAll } from './exports.ts'
import { importLiteLlm } from './import.ts'
import { someText } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

interface LiteLlmOptions {
  readonly config?: string
  readonly output?: string
  /** True without an address: that of the variable. */
  readonly database?: string | true
  readonly dataDir?: string
  readonly dryRun?: boolean
}

/** Adds `import` and `import litellm`. */
export function addImportCommands(program: Command, registry: Registry): void {
  const { world, doing } = registry
  const command = program
    .command('import')
    .description(
      'create and change agents, skills, environments and webhooks as an exported file states, and leave others; or import from LiteLLM',
    )
    .addArgument(new Argument('<file>', 'YAML or JSON as "export" prints it; - for standard input').argParser(someText))
    .option('--dry-run', 'only print what would be created and changed')
    .action(
      doing<{ dryRun?: boolean }>(({ client, out }, { dryRun: isDryRun = false }, [path = '']) =>
        importAll(client, { path, readStdin: world.stdin.read, isDryRun }, out),
      ),
    )
  withExamples(command, ['switchyard import all.yaml --dry-run', 'switchyard import all.yaml'])
  addLiteLlm(command, registry)
}

function addLiteLlm(group: Command, { world, doing }: Registry): void {
  const { server, env } = world
  const command = group
    .command('litellm')
    .description("convert LiteLLM's configuration, and import the keys of its database; a second run changes nothing")
    .option('--config <file>', "LiteLLM's config.yaml")
    .option('--output <file>', 'write the converted configuration to this new file instead of standard output')
    .option(
      '--database [url]',
      "import keys, budgets and spend from LiteLLM's PostgreSQL (default: LITELLM_DATABASE_URL, which other users cannot see)",
    )
    .option('--data-dir <folder>', 'folder of the database and files of this service (SWITCHYARD_DATA_DIR)')
    .option('--dry-run', 'write nothing: no file and no keys')
    .action(
      doing<LiteLlmOptions>(({ out }, { config, output, database, dataDir, dryRun = false }) => {
        const overrides = dataDir === undefined ? {} : { dataDir }
        return importLiteLlm(server, { config, output, database, isDryRun: dryRun, env, overrides }, out)
      }),
    )
  withExamples(command, [
    'switchyard import litellm --config config.yaml --dry-run',
    'switchyard import litellm --config config.yaml --output switchyard.yaml',
    'LITELLM_DATABASE_URL=postgresql://... switchyard import litellm --database',
  ])
}
