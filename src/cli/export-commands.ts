import { Argument, type Command } from 'commander'
import { exportAll, importAll } from './exports.ts'
import { someText } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

/** Adds `export` and `import`. */
export function addExportCommands(program: Command, { world, doing }: Registry): void {
  const exported = program
    .command('export')
    .description(
      'print agents with their memories and schedules, skills and outbound webhooks as YAML, without secrets',
    )
    .option('--owner <id>', 'only agents and webhooks of this owner', someText)
    .action(doing<{ owner?: string }>(({ client, out }, { owner }) => exportAll(client, owner, out)))
  withExamples(exported, ['switchyard export > all.yaml', 'switchyard export --owner team --json > team.json'])
  const imported = program
    .command('import')
    .description('create and change agents, skills and webhooks as an exported file states; others stay')
    .addArgument(new Argument('<file>', 'YAML or JSON; - for standard input').argParser(someText))
    .option('--dry-run', 'only print what would be created and changed')
    .action(
      doing<{ dryRun?: boolean }>(({ client, out }, { dryRun: isDryRun = false }, [path = '']) =>
        importAll(client, { path, readStdin: world.stdin.read, isDryRun }, out),
      ),
    )
  withExamples(imported, ['switchyard import all.yaml --dry-run', 'switchyard import all.yaml'])
}
