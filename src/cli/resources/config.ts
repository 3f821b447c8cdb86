import type { Command } from 'commander'
import { systemRoutes } from '../../contract/system.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand } from './route-command.ts'
import { printFields, rows } from './show.ts'

/** Adds `config`. */
export function addConfigCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'config', 'configuration of the running service; requires an admin key', [
    'switchyard config show',
  ])
  addRouteCommand(group, registry, {
    name: 'show',
    route: systemRoutes.settings,
    text: 'show the settings in force, the source of each, and the state of the service; secrets are masked',
    show: (answer, context) => {
      const { settings, warnings, database, encryption, replicas, ...state } = answer
      printFields(context.out, {
        version: state.version,
        config_file: state.config_file ?? 'none',
        database: `${database.mode}, PostgreSQL ${database.version}`,
        encryption_key: encryption.current_key_id,
        sandbox: state.sandbox_driver,
        replicas: String(replicas.length),
      })
      context.out.line()
      rows<typeof settings, (typeof settings)[number]>(
        all => all,
        [
          ['SETTING', ({ name }) => name],
          ['SOURCE', ({ source }) => source],
          [
            'VALUE',
            ({ is_secret, is_set, value }) => (is_secret ? (is_set ? '********' : 'not set') : valueText(value)),
          ],
        ],
        { empty: 'No settings.' },
      )(settings, context)
      for (const warning of warnings) context.out.note({ text: `! ${warning}`, tone: 'warning' })
      return undefined
    },
    examples: ['switchyard config show', 'switchyard config show --json'],
  })
}

const valueText = (value: unknown): string =>
  value === null ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value)
