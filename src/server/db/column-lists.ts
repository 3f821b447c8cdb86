/** Returns the parameters of an insert, one for each column: `$1, $2`. */
export const parametersFor = (columns: readonly string[]): string => columns.map((_, at) => `$${at + 1}`).join(', ')

/** Returns the assignments of an update, with a parameter for each column: `name = $1, title = $2`. */
export const assignmentsFor = (columns: readonly string[]): string =>
  columns.map((name, at) => `${name} = $${at + 1}`).join(', ')
