//! How payloads and plain words are declared.

/// Declares a payload struct with what every payload derives, and says which of its fields hold texts.
macro_rules! payload {
    ($(#[$doc:meta])* $name:ident { $( $(#[$field_doc:meta])* $field:ident: $type:ty ),* $(,)? } texts { $($text:ident),* }) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, wincode::SchemaRead, wincode::SchemaWrite,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $( $(#[$field_doc])* pub $field: $type, )*
        }

        impl crate::text::Texts for $name {
            fn texts(&mut self, visit: &mut dyn FnMut(&mut crate::text::Text)) {
                $( self.$text.texts(visit); )*
                let _ = visit;
            }
        }
    };
}

/// Declares an enum of plain words, written in JSON in kebab-case.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $text:literal ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, wincode::SchemaRead, wincode::SchemaWrite,
        )]
        pub enum $name {
            $( $(#[$variant_doc])* #[serde(rename = $text)] $variant, )*
        }

        impl $name {
            /// The word as JSON has it.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"enum": [$($text),*]})
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(crate) use {payload, words};
