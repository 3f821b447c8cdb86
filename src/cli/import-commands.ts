import type { Command } from 'commander'
import { importLiteLlm } from './import.ts'
import { type Registry, withExamples } from './world.ts'

interface ImportOptions {
  readonly config?: string
  readonly output?: string
  /** True without an address: that of the variable. */
  readonly database?: string | true
  readonly dataDir?: string
  readonly dryRun?: boolean
}

/** Adds `import`. */
export function addImportCommands(program: Command, { world, doing }: Registry): void {
  const { server, env } = world
  const group = program.command('import').description('take over the settings and keys of another gateway')
  withExamples(group, ['switchyard import litellm --config config.yaml --dry-run'])
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
      doing<ImportOptions>(({ out }, { config, output, database, dataDir, dryRun = false }) => {
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
