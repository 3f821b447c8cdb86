import type { Command } from 'commander'
import { auditRoutes } from '../../contract/audit.ts'
import { keyFinder } from '../finders.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand } from './route-command.ts'
import { rows } from './show.ts'

/** Adds `audit`. */
export function addAuditCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'audit', 'changes of the configuration and who made them; requires an admin key', [
    'switchyard audit ls',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: auditRoutes.list,
    text: 'list changes, newest first',
    fields: [
      { field: 'action' },
      { field: 'object_id', flag: 'object', text: 'only changes of the object with this id' },
      { field: 'principal', text: 'only changes by this principal' },
      { field: 'key_id', flag: 'by-key', text: 'only changes by this key', finder: keyFinder },
      { field: 'owner_id', flag: 'owner', text: 'only changes of objects of this owner' },
      { field: 'request_id', flag: 'request', text: 'only changes by this request' },
      { field: 'from' },
      { field: 'to' },
      { field: 'timezone' },
    ],
    show: rows(
      ({ entries }) => entries,
      [
        ['TIME', ({ created_at }) => created_at.slice(0, 19).replace('T', ' ')],
        ['ACTION', ({ action }) => action],
        ['BY', ({ principal }) => principal],
        ['ADDRESS', ({ address }) => address ?? '-'],
        ['OBJECT', ({ object_id }) => object_id],
      ],
      { empty: 'No change matches.', dropFirst: ['ADDRESS', 'BY', 'OBJECT'] },
    ),
    examples: [
      'switchyard audit ls --action "key.*" --from 2026-01-01',
      'switchyard audit ls --object agent_0199 --csv > audit.csv',
    ],
  })
}
