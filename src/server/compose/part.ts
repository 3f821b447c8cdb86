import type { FastifyInstance } from 'fastify'
import type { Component } from '../platform/lifecycle.ts'

/** Routes and components that a compose function adds to the server. */
export interface Part {
  serve?(app: FastifyInstance): void
  /** In the order in which they were built. */
  readonly components?: readonly Component[]
}
