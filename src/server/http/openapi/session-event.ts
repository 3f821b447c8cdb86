import { eventSchemas } from '../../../contract/session-events.ts'

const nameOf = (schema: object): string => String((schema as { readonly title?: unknown }).title)

/**
 * The event of a session as the document shows it: one schema for each type, discriminated by `type`. The server itself sends
 * any event that a log holds, which the contract's own schema allows.
 */
export const documentedEvent = {
  title: 'SessionEvent',
  description: 'A stored event of a session. Skip types that you do not know: runtimes and later versions add some.',
  oneOf: Object.values(eventSchemas),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(
      Object.entries(eventSchemas).map(([type, schema]) => [type, `#/components/schemas/${nameOf(schema)}`]),
    ),
  },
} as const
