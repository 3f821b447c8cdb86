import { eventSchemas } from '../../../contract/session-events.ts'
import { referenceTo } from './components.ts'

/**
 * The event of a session as the document shows it: one schema for each type, discriminated by `type`. The server itself sends
 * any event that a log holds, which the contract's own schema allows.
 */
export const documentedEvent = {
  title: 'SessionEvent',
  description: 'A stored event of a session. Skip types that you do not know: runtimes and later versions add some.',
  oneOf: eventSchemas,
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(
      eventSchemas.map(schema => [
        schema.properties.type.const,
        referenceTo((schema as { readonly title?: string }).title ?? ''),
      ]),
    ),
  },
} as const
