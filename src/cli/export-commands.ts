import type { Command } from 'commander'
import { exportAll } from './exports.ts'
import { someText } from './parse.ts'
import { type Registry, withExamples } from './world.ts'

/** Adds `export`. */
export function addExportCommand(program: Command, { doing }: Registry): void {
  const command = program
    .command('export')
    .description(
      'print agents with their memories and schedules, skills, environments and outbound webhooks as YAML, without secrets',
    )
    .option('--owner <id>', 'only agents and webhooks of this owner', someText)
    .action(doing<{ owner?: string }>(({ client, out }, { owner }) => exportAll(client, owner, out)))
  withExamples(command, ['switchyard export > all.yaml', 'switchyard export --owner team --json > team.json'])
}
