import type { Outbound } from '../../platform/outbound.ts'
import type { LocalProgram } from './programs.ts'

/** Leads the connections of a client to the port of a program, in the place of the guard for addresses outside. */
export const connectorOf = (program: Pick<LocalProgram, 'connect'>): Pick<Outbound, 'connect'> => ({
  connect: () => (_options, done) => {
    program.connect().then(
      socket => done(null, socket),
      (error: Error) => done(error, null),
    )
  },
})
