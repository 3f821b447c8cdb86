import { type TSchema, Type } from 'typebox'
import { route } from './route.ts'
import { JsonObject } from './schemas.ts'

/** Folder and project of every session in responses to opencode's clients. */
export const opencodePlace = { projectID: 'global', directory: '/workspace' } as const

/** The one provider that opencode's clients see, with all models of the gateway. */
export const opencodeProvider = 'switchyard'

/** What the routes of opencode's clients share. */
export const opencodeRoute = { access: 'key', errorShape: 'nested' } as const

/** The answer of a list that is always empty in this version. */
export const Empty = Type.Array(JsonObject, { maxItems: 0 })

/** GET route without parameters. */
export const read = <const Id extends string, const Path extends `/${string}`, S extends TSchema>(spec: {
  id: Id
  path: Path
  answer: S
  summary: string
  description: string
}) => {
  const { id, path, answer, summary, description } = spec
  return route({
    ...opencodeRoute,
    id: `opencode.${id}` as const,
    method: 'GET',
    path,
    responses: { 200: answer },
    summary,
    description,
  })
}
