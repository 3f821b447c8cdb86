import type { FastifyInstance } from 'fastify'
import type { Component } from '../platform/lifecycle.ts'

/** What a compose function adds to the server, besides what other parts use of it. */
export interface Part {
  serve?(app: FastifyInstance): void
  /** In the order in which they were built. */
  readonly components?: readonly Component[]
}
