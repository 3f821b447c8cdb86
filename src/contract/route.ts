import type { Static, TSchema } from 'typebox'
import type { TagName } from './tags.ts'

/**
 * Who may call a route. `key-or-query` also takes the key as `?key=`, `google-key` as `x-goog-api-key` or `?key=`;
 * `webhook` checks a token of its own.
 */
export type Access = 'public' | 'key' | 'admin' | 'key-or-query' | 'google-key' | 'webhook'

/** The wire shape of a route's errors: `{error:{type,message}}`, `{error:"text"}`, Anthropic's, OpenAI's or Google's envelope. */
export type ErrorShape = 'nested' | 'plain' | 'anthropic' | 'openai' | 'google' | 'aws'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One endpoint as data. Server, OpenAPI document, client and contract test all read the same value. */
export interface Route {
  /** `group.verb`, unique; the OpenAPI operationId. */
  readonly id: string
  readonly method: Method
  /** Parameters in braces: `/session/{session_id}`. */
  readonly path: string
  /** Other paths under which clients look for this endpoint. Everything that holds for the route holds for each of them. */
  readonly aliases?: readonly string[]
  readonly access: Access
  readonly errorShape: ErrorShape
  /** A sentence of a few words, without a full stop: `Create an agent`. */
  readonly summary: string
  /**
   * What the operation does beyond its summary, in Markdown: effects, defaults, limits, errors of its own. Who may call it, paging,
   * streaming and aliases follow from the other fields and are added to it.
   */
  readonly description: string
  /** Its tag in the OpenAPI document, where that differs from the tag of its neighbours. */
  readonly group?: TagName
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /**
   * What becomes of fields that `body` does not know. `refused` with 400 unless given; `named` in `x-switchyard-ignored` on
   * routes of the interface and of the served dialects, for the top level alone; `kept` where the body is not ours to judge.
   */
  readonly unknownFields?: 'refused' | 'named' | 'kept'
  /** Largest body in bytes; 2 MB unless given. */
  readonly bodyLimit?: number
  /** True when a program of a session may call it with the key of its run. */
  readonly isForPrograms?: boolean
  /** True when processes of the role `worker`, which serve no API, answer it too. */
  readonly isOnWorkers?: boolean
  /** True when a request may leave the body out altogether. */
  readonly bodyOptional?: boolean
  /** Schema per status; null for an answer without a body. */
  readonly responses: Readonly<Record<number, TSchema | null>>
  /** Content type of a success answer that is not JSON. */
  readonly produces?:
    | 'text/event-stream'
    | 'text/html'
    | 'text/javascript'
    | 'audio/mpeg'
    | 'application/octet-stream'
    | 'application/gzip'
  /** Content type of a body that is not JSON. */
  readonly consumes?: 'multipart/form-data' | 'application/octet-stream'
  /** True when `format=csv` in the query gives the whole list as a file of comma-separated values. */
  readonly hasCsv?: boolean
}

/** Keeps the literal types of `spec`, so that bind and the client can infer from it. */
export const route = <const R extends Route>(spec: R): R => spec

type Part<S> = S extends TSchema ? Static<S> : undefined

/** What a handler is given: each part typed by the route's own schema, undefined when the route declares none. */
export interface Input<R extends Route> {
  readonly params: Part<R['params']>
  readonly query: Part<R['query']>
  readonly body: R['bodyOptional'] extends true ? Part<R['body']> | undefined : Part<R['body']>
}

type Success<R extends Route> = Extract<keyof R['responses'], 200 | 201 | 202 | 204>

/** The success body of a route; void for an answer without one. */
export type Result<R extends Route> = R['responses'][Success<R>] extends infer S
  ? S extends TSchema
    ? Static<S>
    : void
  : never

/** The one success status of a route. */
export function successStatus(spec: Route): number {
  const status = Object.keys(spec.responses)
    .map(Number)
    .find(code => code < 400)
  if (status === undefined) throw new Error(`route ${spec.id} declares no success status`)
  return status
}
