import { backgroundCases } from './background.ts'
import { badKeyCases } from './bad-keys.ts'
import { batchCases } from './batches.ts'
import { budgetCases } from './budgets.ts'
import { crashCases } from './crash-scenes.ts'
import { folderCases } from './data-folder.ts'
import { databaseCases } from './database-away.ts'
import { resetCases } from './database-resets.ts'
import { drainCases } from './drain.ts'
import type { FaultCase } from './fault-case.ts'
import { hintCases } from './hints-lost.ts'
import { killCases } from './kill.ts'
import { ledgerCases } from './left-calls.ts'
import { openFileCases } from './open-files.ts'
import { parallelCases } from './parallel-requests.ts'
import { programCases } from './programs.ts'
import { providerBatchCases } from './provider-batches.ts'
import { reconnectCases } from './reconnects.ts'
import { rotationCases } from './rotation.ts'
import { stalledReaderCases } from './stalled-readers.ts'
import { startAndStopCases } from './start-and-stop.ts'
import { replicaCases } from './two-replicas.ts'
import { webhookCases } from './webhooks.ts'

/** Every case, in the order of the table of faults. */
export const allCases: readonly FaultCase[] = [
  ...killCases,
  ...crashCases,
  ...replicaCases,
  ...drainCases,
  ...databaseCases,
  ...resetCases,
  ...folderCases,
  ...reconnectCases,
  ...hintCases,
  ...stalledReaderCases,
  ...parallelCases,
  ...budgetCases,
  ...ledgerCases,
  ...batchCases,
  ...providerBatchCases,
  ...backgroundCases,
  ...rotationCases,
  ...badKeyCases,
  ...webhookCases,
  ...programCases,
  ...openFileCases,
  ...startAndStopCases,
]
