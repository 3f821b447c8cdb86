import { hostileDrivers } from '../support/hostile/drivers.ts'
import { testHostileSessions } from '../support/hostile/sessions.ts'

// `npm run security -- S36` attacks every driver, with every call.
const drivers = hostileDrivers.filter(({ skip }) => !skip).slice(0, 1)
await testHostileSessions(drivers, { withCalls: false })
