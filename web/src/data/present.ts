/** Returns the fields that have a value, for requests whose optional fields are absent rather than undefined. */
export const present = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>
  } & { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] }
