import type { Outbound } from '../../platform/outbound.ts'
import type { LocalProgram } from './programs.ts'

/** Connects an HTTP client to the port of a program, instead of through the guard for outbound addresses. */
export const connectorOf = (program: Pick<LocalProgram, 'connect'>): Pick<Outbound, 'connect'> => ({
  connect: () => (_options, done) => {
    program.connect().then(
      socket => done(null, socket),
      (error: Error) => done(error, null),
    )
  },
})
