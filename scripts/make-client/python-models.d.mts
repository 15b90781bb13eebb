/** The module of a Python client that holds the types of an OpenAPI 3.1 document: a TypedDict for each object. */
export function pythonModels(document: object): string;
