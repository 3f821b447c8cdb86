import type { Access, Route } from '../../../contract/route.ts'

/** Who may call an operation, by its access. */
const callers: Readonly<Record<Access, string>> = {
  public: 'Requires no key.',
  key: 'Requires a key.',
  admin: 'Requires the master key or an admin key.',
  'key-or-query': 'Requires a key, in a header or as `?key=`.',
  'google-key': 'Requires a key, in a header (`x-goog-api-key` included) or as `?key=`.',
  'key-unless-public': 'Requires a key unless the object is public.',
  webhook: 'Requires the secret or the token of the agent’s webhook, not a key.',
}

/** Returns the description of an operation in Markdown: its own text, then what follows from the contract. */
export function descriptionOf(route: Route): string {
  const { description, access, query, produces, hasCsv, aliases = [] } = route
  const { properties = {} } = (query ?? {}) as { readonly properties?: object }
  const facts = [
    callers[access],
    'cursor' in properties && 'Paged by `limit` and `cursor`.',
    produces === 'text/event-stream' && 'Answers with server-sent events.',
    hasCsv && '`format=csv` returns all rows as a CSV file.',
    aliases.length > 0 && `Also served at ${aliases.map(path => `\`${path}\``).join(', ')}.`,
  ]
  return [description, facts.filter(fact => fact !== false).join(' ')].join('\n\n')
}
