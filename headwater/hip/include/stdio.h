#pragma once /* printf is in headwater_hip.h */
