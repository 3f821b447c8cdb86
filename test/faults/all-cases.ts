import { crashCases } from './crash-at-write.ts'
import type { FaultCase } from './fault-case.ts'
import { killCases } from './kill.ts'

/** Every case, in the order of the table of faults. */
export const allCases: readonly FaultCase[] = [...killCases, ...crashCases]
