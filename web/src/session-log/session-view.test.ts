import './session-view.ts'
import './status.ts'
import './deltas.ts'
import './search.ts'
